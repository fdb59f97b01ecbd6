// Keywords, comments, texts and numbers of C, C++ and Fortran, line by line. It need not understand a program: what it does not know
// is plain.

export type TokenKind = "keyword" | "comment" | "text" | "number" | "directive" | "plain";

export interface Token {
  kind: TokenKind;
  text: string;
}

const C_WORDS = new Set(
  ("alignas alignof and asm auto bool break case catch char class const constexpr consteval continue co_await co_return co_yield decltype default delete do double " +
  "dynamic_cast else enum explicit export extern false final float for friend goto if inline int long mutable namespace new noexcept not nullptr " +
  "operator or override private protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert " +
  "static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile " +
  "wchar_t while xor _Atomic _Bool _Generic _Noreturn _Static_assert _Thread_local size_t ssize_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t " +
  "uint16_t uint32_t uint64_t uintptr_t intptr_t __global__ __device__ __host__ __shared__").split(" "),
);

const FORTRAN_WORDS = new Set(
  ("abstract allocatable allocate assign associate asynchronous backspace bind block call case change character class close codimension common complex " +
  "concurrent contains contiguous continue critical cycle data deallocate deferred dimension do double elemental else elseif elsewhere end " +
  "endassociate endblock endcritical enddo endfile endforall endfunction endif endinterface endmodule endprocedure endprogram endselect endsubmodule " +
  "endsubroutine endteam endtype endwhere entry enum enumerator equivalence error event exit extends external final flush forall form format " +
  "function generic go goto if images implicit import impure in include inout inquire integer intent interface intrinsic is kind len local logical " +
  "memory module namelist non_overridable none nopass nullify only open operator optional out parameter pass pause pointer post precision print " +
  "private procedure program protected public pure quiet rank read real recursive result return rewind save select sequence stop submodule " +
  "subroutine sync syncall target team then to type unlock lock use value volatile wait where while write").split(" "),
);

const C_ENDINGS = new Set(["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "inl", "cu", "cuh", "hip"]);
const FORTRAN_ENDINGS = new Set(["f", "for", "ftn", "fpp", "f77", "f90", "f95", "f03", "f08", "f18", "caf", "cuf"]);
const FIXED_FORM = new Set(["f", "for", "ftn", "f77"]);

export type Language = "c" | "fortran" | "fixed" | undefined;

/** The language of a file, by its ending. */
export function languageOf(file: string): Language {
  const ending = /\.([^./]+)$/.exec(file)?.[1]?.toLowerCase() ?? "";
  if (C_ENDINGS.has(ending)) return "c";
  if (FIXED_FORM.has(ending)) return "fixed";
  return FORTRAN_ENDINGS.has(ending) ? "fortran" : undefined;
}

/** The tokens of every line. */
export function highlighted(lines: string[], language: Language): Token[][] {
  if (language === undefined) return lines.map((text) => [{ kind: "plain", text }]);
  if (language !== "c") return lines.map((line) => fortranLine(line, language === "fixed"));
  // A part of a file may begin inside of a comment: then its end comes before any begin.
  const all = lines.join("\n");
  const [begin, end] = [all.indexOf("/*"), all.indexOf("*/")];
  let inside = end >= 0 && (begin < 0 || end < begin);
  return lines.map((line) => {
    const tokens = cLine(line, inside);
    inside = tokens.open;
    return tokens.list;
  });
}

/** Adds a token, and joins it with one of the same kind before it. */
function push(list: Token[], kind: TokenKind, text: string): void {
  const last = list.at(-1);
  if (text === "") return;
  if (last?.kind === kind) last.text += text;
  else list.push({ kind, text });
}

function cLine(line: string, inside: boolean): { list: Token[]; open: boolean } {
  const list: Token[] = [];
  let rest = line;
  let open = inside;
  const take = (kind: TokenKind, length: number) => {
    push(list, kind, rest.slice(0, length));
    rest = rest.slice(length);
  };
  const directive = open ? undefined : /^\s*#\s*\w+/.exec(rest)?.[0];
  if (directive) {
    take("directive", directive.length);
    const included = /^\s*<[^>]*>/.exec(rest)?.[0];
    if (included && /include/.test(directive)) take("text", included.length);
  }
  while (rest !== "") {
    if (open) {
      const end = rest.indexOf("*/");
      open = end < 0;
      take("comment", open ? rest.length : end + 2);
      continue;
    }
    if (rest.startsWith("//")) take("comment", rest.length);
    else if (rest.startsWith("/*")) {
      open = true;
      take("comment", 2);
    } else {
      const text = /^(?:u8|[uUL])?(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)/.exec(rest)?.[0];
      const number = /^(?:0[xX][\da-fA-F'.pP]+|\.?\d(?:[\d'.]|[eE][+-]?)*)[uUlLfFzZ]*/.exec(rest)?.[0];
      const word = /^[A-Za-z_]\w*/.exec(rest)?.[0];
      if (text) take("text", text.length);
      else if (number) take("number", number.length);
      else if (word) take(C_WORDS.has(word) ? "keyword" : "plain", word.length);
      else take("plain", 1);
    }
  }
  return { list, open };
}

function fortranLine(line: string, isFixed: boolean): Token[] {
  if (isFixed && /^[cC*]/.test(line)) return [{ kind: "comment", text: line }];
  const list: Token[] = [];
  let rest = line;
  const take = (kind: TokenKind, length: number) => {
    push(list, kind, rest.slice(0, length));
    rest = rest.slice(length);
  };
  const directive = /^\s*#\s*\w+/.exec(rest)?.[0];
  if (directive) take("directive", directive.length);
  while (rest !== "") {
    const text = /^(?:"(?:""|[^"])*"?|'(?:''|[^'])*'?)/.exec(rest)?.[0];
    const number = /^(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?(?:_\w+)?/.exec(rest)?.[0];
    const dotted = /^\.(?:and|or|not|eqv|neqv|true|false|eq|ne|lt|le|gt|ge)\./i.exec(rest)?.[0];
    const word = /^[A-Za-z_]\w*/.exec(rest)?.[0];
    if (rest.startsWith("!")) take("comment", rest.length);
    else if (text) take("text", text.length);
    else if (dotted) take("keyword", dotted.length);
    else if (number) take("number", number.length);
    else if (word) take(FORTRAN_WORDS.has(word.toLowerCase()) ? "keyword" : "plain", word.length);
    else take("plain", 1);
  }
  return list;
}
