
/* Active messages. All of them go through few functions with the number of their arguments and the arguments, of
   which these functions read no more than that number. */

#define DWELL_READ(count) DWELL_READ_BEHIND(count, count)
#define DWELL_READ_BEHIND(last, count)                                           \
  gex_AM_Arg_t a[16] = {0};                                                      \
  va_list list;                                                                  \
  va_start(list, last);                                                          \
  for (int at = 0; at < (int)(count) && at < 16; at++) a[at] = va_arg(list, gex_AM_Arg_t); \
  va_end(list)
#define DWELL_GIVE                                                                                     \
  a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]

#define DWELL_MESSAGE(name, tm, rank, handler, bytes, count, call)                                   \
  DWELL_READ(count);                                                                                 \
  dwell_word words[] = {(dwell_word)(tm), (dwell_word)(rank), (dwell_word)(handler), (dwell_word)(bytes), \
                        (dwell_word)a, (dwell_word)(count), 0};                                      \
  dwell_word state[DWELL_STATE];                                                                     \
  int recorded = dwell_gasnet_begin(dwell_entry_##name, words, DWELL_SITE, DWELL_STACK, state);      \
  int result = call;                                                                                 \
  words[6] = (dwell_word)result;                                                                     \
  if (recorded) dwell_gasnet_end(dwell_entry_##name, words, state);                                  \
  return result

#define DWELL_SOURCE(token) (dwell_source(token))
static __attribute__((unused)) uint32_t dwell_source(gex_Token_t token) {
  gex_Token_Info_t info;
  return (gex_Token_Info(token, &info, GEX_TI_SRCRANK) & GEX_TI_SRCRANK) ? (uint32_t)info.gex_srcrank : UINT32_MAX;
}

/* Replies go to a rank of the job: null is the team of all. */
extern char dwell_entry_gex_AM_RequestShort[] DWELL_WEAK;
extern char dwell_entry_gex_AM_RequestMedium[] DWELL_WEAK;
extern char dwell_entry_gex_AM_RequestLong[] DWELL_WEAK;
extern char dwell_entry_gex_AM_ReplyShort[] DWELL_WEAK;
extern char dwell_entry_gex_AM_ReplyMedium[] DWELL_WEAK;
extern char dwell_entry_gex_AM_ReplyLong[] DWELL_WEAK;

DWELL_SLOW int dwell_RequestShort(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, gex_Flags_t flags, int count,
                                  ...) {
  DWELL_MESSAGE(gex_AM_RequestShort, tm, rank, handler, 0, count,
                gasnetc_AMRequestShortM(tm, rank, handler, flags GASNETI_THREAD_GET, count, DWELL_GIVE));
}
DWELL_SLOW int dwell_RequestMedium(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, void *source, size_t bytes,
                                   gex_Event_t *local, gex_Flags_t flags, int count, ...) {
  DWELL_MESSAGE(gex_AM_RequestMedium, tm, rank, handler, bytes, count,
                gasnetc_AMRequestMediumM(tm, rank, handler, source, bytes, local, flags GASNETI_THREAD_GET, count,
                                         DWELL_GIVE));
}
DWELL_SLOW int dwell_RequestLong(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, void *source, size_t bytes,
                                 void *target, gex_Event_t *local, gex_Flags_t flags, int count, ...) {
  DWELL_MESSAGE(gex_AM_RequestLong, tm, rank, handler, bytes, count,
                gasnetc_AMRequestLongM(tm, rank, handler, source, bytes, target, local, flags GASNETI_THREAD_GET, count,
                                       DWELL_GIVE));
}
DWELL_SLOW int dwell_ReplyShort(gex_Token_t token, gex_AM_Index_t handler, gex_Flags_t flags, int count, ...) {
  DWELL_MESSAGE(gex_AM_ReplyShort, 0, DWELL_SOURCE(token), handler, 0, count,
                gasnetc_AMReplyShortM(token, handler, flags, count, DWELL_GIVE));
}
DWELL_SLOW int dwell_ReplyMedium(gex_Token_t token, gex_AM_Index_t handler, void *source, size_t bytes,
                                 gex_Event_t *local, gex_Flags_t flags, int count, ...) {
  DWELL_MESSAGE(gex_AM_ReplyMedium, 0, DWELL_SOURCE(token), handler, bytes, count,
                gasnetc_AMReplyMediumM(token, handler, source, bytes, local, flags, count, DWELL_GIVE));
}
DWELL_SLOW int dwell_ReplyLong(gex_Token_t token, gex_AM_Index_t handler, void *source, size_t bytes, void *target,
                               gex_Event_t *local, gex_Flags_t flags, int count, ...) {
  DWELL_MESSAGE(gex_AM_ReplyLong, 0, DWELL_SOURCE(token), handler, bytes, count,
                gasnetc_AMReplyLongM(token, handler, source, bytes, target, local, flags, count, DWELL_GIVE));
}

/* Messages with negotiated payload: the call that prepares one names the target, and the one that commits it the rest. What
   the functions behind the macros are passed was compared for 2021.3 and 2025.8. */
#if defined(GASNETI_AM_COMMIT_REQ_MEDIUM_NARGS) && \
    (GASNET_RELEASE_VERSION_MAJOR <= 2021 || GASNET_RELEASE_VERSION_MAJOR >= 2025)
extern char dwell_entry_gex_AM_CommitRequestMedium[] DWELL_WEAK;
extern char dwell_entry_gex_AM_CommitRequestLong[] DWELL_WEAK;
extern char dwell_entry_gex_AM_CommitReplyMedium[] DWELL_WEAK;
extern char dwell_entry_gex_AM_CommitReplyLong[] DWELL_WEAK;

DWELL_FAST gex_AM_SrcDesc_t dwell_prepared(gex_AM_SrcDesc_t descriptor, gex_TM_t tm, uint32_t rank) {
  if (dwell_gasnet_prepared) dwell_gasnet_prepared((const void *)descriptor, (const void *)tm, rank);
  return descriptor;
}
DWELL_FAST gex_AM_SrcDesc_t dwell_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank, const void *buffer, size_t least,
                                                       size_t most, gex_Event_t *local, gex_Flags_t flags,
                                                       unsigned count) {
  return dwell_prepared(gex_AM_PrepareRequestMedium(tm, rank, buffer, least, most, local, flags, count), tm, rank);
}
DWELL_FAST gex_AM_SrcDesc_t dwell_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank, const void *buffer, size_t least,
                                                     size_t most, void *target, gex_Event_t *local, gex_Flags_t flags,
                                                     unsigned count) {
  return dwell_prepared(gex_AM_PrepareRequestLong(tm, rank, buffer, least, most, target, local, flags, count), tm,
                        rank);
}
DWELL_FAST gex_AM_SrcDesc_t dwell_PrepareReplyMedium(gex_Token_t token, const void *buffer, size_t least, size_t most,
                                                     gex_Event_t *local, gex_Flags_t flags, unsigned count) {
  return dwell_prepared(gex_AM_PrepareReplyMedium(token, buffer, least, most, local, flags, count), 0,
                        dwell_gasnet_prepared ? dwell_source(token) : 0);
}
DWELL_FAST gex_AM_SrcDesc_t dwell_PrepareReplyLong(gex_Token_t token, const void *buffer, size_t least, size_t most,
                                                   void *target, gex_Event_t *local, gex_Flags_t flags,
                                                   unsigned count) {
  return dwell_prepared(gex_AM_PrepareReplyLong(token, buffer, least, most, target, local, flags, count), 0,
                        dwell_gasnet_prepared ? dwell_source(token) : 0);
}
#undef gex_AM_PrepareRequestMedium
#undef gex_AM_PrepareRequestLong
#undef gex_AM_PrepareReplyMedium
#undef gex_AM_PrepareReplyLong
#define gex_AM_PrepareRequestMedium dwell_PrepareRequestMedium
#define gex_AM_PrepareRequestLong dwell_PrepareRequestLong
#define gex_AM_PrepareReplyMedium dwell_PrepareReplyMedium
#define gex_AM_PrepareReplyLong dwell_PrepareReplyLong

#if GASNET_RELEASE_VERSION_MAJOR >= 2025
#define DWELL_COMMIT_FLAGS , gex_Flags_t flags
#define DWELL_GIVE_FLAGS , flags
#else
#define DWELL_COMMIT_FLAGS
#define DWELL_GIVE_FLAGS
#endif
/* The real functions do not all want the number of arguments. */
#if GASNETC_AM_COMMIT_REQ_MEDIUM_NARGS
#define DWELL_REQ_MEDIUM(count) , count
#else
#define DWELL_REQ_MEDIUM(count)
#endif
#if GASNETC_AM_COMMIT_REP_MEDIUM_NARGS
#define DWELL_REP_MEDIUM(count) , count
#else
#define DWELL_REP_MEDIUM(count)
#endif
#if GASNETC_AM_COMMIT_REQ_LONG_NARGS
#define DWELL_REQ_LONG(count) , count
#else
#define DWELL_REQ_LONG(count)
#endif
#if GASNETC_AM_COMMIT_REP_LONG_NARGS
#define DWELL_REP_LONG(count) , count
#else
#define DWELL_REP_LONG(count)
#endif

#define DWELL_COMMIT(name, descriptor, handler, bytes, count, call)                                      \
  DWELL_READ_BEHIND(descriptor, count);                                                                  \
  dwell_word state[DWELL_STATE], tm = 0;                                                                 \
  dwell_word rank = dwell_gasnet_committed ? dwell_gasnet_committed((const void *)(descriptor), &tm) : 0; \
  dwell_word words[] = {tm, rank, (dwell_word)(handler), (dwell_word)(bytes), (dwell_word)a, (dwell_word)(count), 0}; \
  int recorded = dwell_entry_##name                                                                      \
                     ? dwell_gasnet_begin(dwell_entry_##name, words, DWELL_SITE, DWELL_STACK, state)      \
                     : 0;                                                                                \
  call;                                                                                                  \
  if (recorded) dwell_gasnet_end(dwell_entry_##name, words, state)

DWELL_SLOW void dwell_CommitRequestMedium(gex_AM_Index_t handler, size_t bytes DWELL_COMMIT_FLAGS, unsigned count,
                                          gex_AM_SrcDesc_t descriptor, ...) {
  DWELL_COMMIT(gex_AM_CommitRequestMedium, descriptor, handler, bytes, count,
               gasnetc_AM_CommitRequestMediumM(handler, bytes DWELL_GIVE_FLAGS GASNETI_THREAD_GET DWELL_REQ_MEDIUM(count), descriptor,
                                               DWELL_GIVE));
}
DWELL_SLOW void dwell_CommitReplyMedium(gex_AM_Index_t handler, size_t bytes DWELL_COMMIT_FLAGS, unsigned count,
                                        gex_AM_SrcDesc_t descriptor, ...) {
  DWELL_COMMIT(gex_AM_CommitReplyMedium, descriptor, handler, bytes, count,
               gasnetc_AM_CommitReplyMediumM(handler, bytes DWELL_GIVE_FLAGS DWELL_REP_MEDIUM(count), descriptor, DWELL_GIVE));
}
DWELL_SLOW void dwell_CommitRequestLong(gex_AM_Index_t handler, size_t bytes, void *target DWELL_COMMIT_FLAGS,
                                        unsigned count,
                                        gex_AM_SrcDesc_t descriptor, ...) {
  DWELL_COMMIT(gex_AM_CommitRequestLong, descriptor, handler, bytes, count,
               gasnetc_AM_CommitRequestLongM(handler, bytes, target DWELL_GIVE_FLAGS GASNETI_THREAD_GET DWELL_REQ_LONG(count),
                                             descriptor, DWELL_GIVE));
}
DWELL_SLOW void dwell_CommitReplyLong(gex_AM_Index_t handler, size_t bytes, void *target DWELL_COMMIT_FLAGS,
                                        unsigned count,
                                      gex_AM_SrcDesc_t descriptor, ...) {
  DWELL_COMMIT(gex_AM_CommitReplyLong, descriptor, handler, bytes, count,
               gasnetc_AM_CommitReplyLongM(handler, bytes, target DWELL_GIVE_FLAGS DWELL_REP_LONG(count), descriptor, DWELL_GIVE));
}
#undef GASNETI_AM_COMMIT_REQ_MEDIUM_NARGS
#undef GASNETI_AM_COMMIT_REP_MEDIUM_NARGS
#undef GASNETI_AM_COMMIT_REQ_LONG_NARGS
#undef GASNETI_AM_COMMIT_REP_LONG_NARGS
#define GASNETI_AM_COMMIT_REQ_MEDIUM_NARGS(count) , count
#define GASNETI_AM_COMMIT_REP_MEDIUM_NARGS(count) , count
#define GASNETI_AM_COMMIT_REQ_LONG_NARGS(count) , count
#define GASNETI_AM_COMMIT_REP_LONG_NARGS(count) , count
#define gasnetc_AM_CommitRequestMediumM dwell_CommitRequestMedium
#define gasnetc_AM_CommitReplyMediumM dwell_CommitReplyMedium
#define gasnetc_AM_CommitRequestLongM dwell_CommitRequestLong
#define gasnetc_AM_CommitReplyLongM dwell_CommitReplyLong
#endif

/* The recorder's own messages are no calls of the program, so they are sent by the function behind the macros. */
static __attribute__((unused)) gex_EP_t dwell_endpoint;
static __attribute__((unused)) gex_TM_t dwell_team;
static __attribute__((unused)) int dwell_send(uint32_t rank, unsigned index, const void *data, size_t bytes,
                                              uint32_t from, uint32_t step) {
  return gasnetc_AMRequestMediumM(dwell_team, (gex_Rank_t)rank, (gex_AM_Index_t)index, (void *)data, bytes,
                                  GEX_EVENT_NOW, 0 GASNETI_THREAD_GET, 2, (gex_AM_Arg_t)from, (gex_AM_Arg_t)step);
}

/* A macro is not expanded inside its own expansion. */
#define gasnetc_AMRequestShortM (dwell_entry_gex_AM_RequestShort ? dwell_RequestShort : gasnetc_AMRequestShortM)
#define gasnetc_AMRequestMediumM (dwell_entry_gex_AM_RequestMedium ? dwell_RequestMedium : gasnetc_AMRequestMediumM)
#define gasnetc_AMRequestLongM (dwell_entry_gex_AM_RequestLong ? dwell_RequestLong : gasnetc_AMRequestLongM)
#define gasnetc_AMReplyShortM (dwell_entry_gex_AM_ReplyShort ? dwell_ReplyShort : gasnetc_AMReplyShortM)
#define gasnetc_AMReplyMediumM (dwell_entry_gex_AM_ReplyMedium ? dwell_ReplyMedium : gasnetc_AMReplyMediumM)
#define gasnetc_AMReplyLongM (dwell_entry_gex_AM_ReplyLong ? dwell_ReplyLong : gasnetc_AMReplyLongM)

/* Waiting for a condition stays a macro, since the condition is evaluated again and again. The call is open as long as the
   word behind its state holds the return address, because the hook itself returns. */
extern char dwell_entry_GASNET_BLOCKUNTIL[] DWELL_WEAK;
DWELL_SLOW int dwell_begin_until(dwell_word *state) {
  state[DWELL_STATE] = (dwell_word)DWELL_SITE;
  return dwell_entry_GASNET_BLOCKUNTIL ? dwell_gasnet_begin(dwell_entry_GASNET_BLOCKUNTIL, &state[DWELL_STATE],
                                                            DWELL_SITE, DWELL_STACK, state)
                                       : 0;
}
#undef GASNET_BLOCKUNTIL
#define GASNET_BLOCKUNTIL(condition)                                          \
  do {                                                                        \
    dwell_word dwell_state[DWELL_STATE + 1];                                  \
    int dwell_recorded = dwell_begin_until(dwell_state);                      \
    gasneti_polluntil(condition);                                             \
    if (dwell_recorded) {                                                     \
      dwell_state[DWELL_STATE] = 0;                                           \
      dwell_gasnet_end(dwell_entry_GASNET_BLOCKUNTIL, dwell_state, dwell_state); \
    }                                                                         \
  } while (0)

/* Start and end, and what the recorder itself needs. */

static __attribute__((unused)) void dwell_message(gex_Token_t token, void *data, size_t bytes, gex_AM_Arg_t from,
                                                  gex_AM_Arg_t step) {
  (void)token;
  if (dwell_gasnet_message) dwell_gasnet_message((uint32_t)from, (uint32_t)step, data, bytes);
}
/* Tables of GASNet-1 have this flag, and 255 for any number of arguments. */
#if defined(GASNETI_FLAG_INIT_LEGACY)
#define DWELL_ANY GASNETI_FLAG_INIT_LEGACY
#endif
static __attribute__((unused)) int dwell_open(unsigned index, gex_AM_Fn_t handler) {
  gex_AM_Entry_t entry = {0};
  entry.gex_index = (gex_AM_Index_t)index;
  entry.gex_fnptr = handler;
#ifdef DWELL_ANY
  /* The program may want the index later, with another handler: so nothing is promised of its messages. */
  entry.gex_flags = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_REPLY |
                    DWELL_ANY;
  entry.gex_nargs = 255;
#else
  entry.gex_flags = GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST;
  entry.gex_nargs = 2;
#endif
  entry.gex_name = "dwell";
  return dwell_plain_gex_EP_RegisterHandlers(dwell_endpoint, &entry, 1);
}
static __attribute__((unused)) void dwell_poll(void) { dwell_plain_gasnet_AMPoll(); }
static __attribute__((unused)) int dwell_meet(dwell_word *event) {
  if (!*event) {
    gex_Event_t begun = dwell_plain_gex_Coll_BarrierNB(dwell_team, 0);
    if (begun == GEX_EVENT_INVALID) return 1;
    *event = (dwell_word)begun;
  }
  dwell_poll();
  return dwell_plain_gex_Event_Test((gex_Event_t)*event) == GASNET_OK;
}
static __attribute__((unused)) uint32_t dwell_members(gex_TM_t team, uint32_t *own) {
  *own = (uint32_t)gex_TM_QueryRank(team);
  return (uint32_t)gex_TM_QuerySize(team);
}
static __attribute__((unused)) uint32_t dwell_member(gex_TM_t team, uint32_t rank) {
  return (uint32_t)gex_TM_TranslateRankToJobrank(team, rank);
}

static __attribute__((unused)) uint32_t dwell_near(uint32_t index) {
  gex_RankInfo_t *list = NULL;
  gex_Rank_t count = 0;
  gex_System_QueryNbrhdInfo(&list, &count, NULL);
  return index < count ? (uint32_t)list[index].gex_jobrank : UINT32_MAX;
}

extern char dwell_entry_gex_Client_Init[] DWELL_WEAK;
static __attribute__((unused)) dwell_word dwell_began[DWELL_STATE];

static __attribute__((unused)) void dwell_start(void) {
  struct dwell_gasnet gasnet = {0,          0,          0,          0,          0,
                                (gex_AM_Fn_t)dwell_message, dwell_open, dwell_send, dwell_poll,
                                dwell_meet, dwell_source, dwell_members, dwell_member, dwell_near};
  gasnet.rank = (uint32_t)gex_TM_QueryRank(dwell_team);
  gasnet.size = (uint32_t)gex_TM_QuerySize(dwell_team);
  gasnet.team = dwell_team;
  gasnet.version = "GASNet-EX " DWELL_TEXT(GASNET_RELEASE_VERSION_MAJOR) "." DWELL_TEXT(
      GASNET_RELEASE_VERSION_MINOR) "." DWELL_TEXT(GASNET_RELEASE_VERSION_PATCH) " " DWELL_TEXT(GASNET_CONDUIT_NAME);
  gasnet.largest = gex_AM_LUBRequestMedium();
  dwell_gasnet_start(dwell_entry_gex_Client_Init, &gasnet, dwell_began);
}

/* A client of GASNet-1 cannot communicate before gasnet_attach. */
#ifdef GASNETI_FLAG_INIT_LEGACY
#define DWELL_LEGACY(flags) ((flags) & GASNETI_FLAG_INIT_LEGACY)
#else
#define DWELL_LEGACY(flags) ((flags) & GEX_FLAG_USES_GASNET1)
#endif

DWELL_SLOW int dwell_Client_Init(gex_Client_t *client, gex_EP_t *endpoint, gex_TM_t *team, const char *name, int *argc,
                                 char ***argv, gex_Flags_t flags) {
  dwell_gasnet_before_start(dwell_began);
  int result = gex_Client_Init(client, endpoint, team, name, argc, argv, flags);
  if (result == GASNET_OK) {
    dwell_endpoint = *endpoint;
    dwell_team = *team;
    if (!DWELL_LEGACY(flags)) dwell_start();
  }
  return result;
}
#undef gex_Client_Init
#define gex_Client_Init(...) \
  (dwell_entry_gex_Client_Init ? dwell_Client_Init(__VA_ARGS__) : gasnetc_Client_Init(__VA_ARGS__))

/* Handlers run inside functions of the recorder. */
DWELL_SLOW int dwell_RegisterHandlers(gex_EP_t endpoint, gex_AM_Entry_t *table, size_t count) {
  gex_AM_Entry_t *copy = (gex_AM_Entry_t *)malloc((count ? count : 1) * sizeof(gex_AM_Entry_t));
  unsigned *numbers = (unsigned *)malloc((count ? count : 1) * sizeof(unsigned));
  if (!copy || !numbers) {
    free(copy);
    free(numbers);
    return dwell_plain_gex_EP_RegisterHandlers(endpoint, table, count);
  }
  unsigned char wanted[256] = {0};
  for (size_t at = 0; at < count; at++) wanted[table[at].gex_index] = 1;
  dwell_gasnet_move(wanted);
  size_t passed = 0;
  for (size_t at = 0; at < count; at++) {
    const gex_AM_Entry_t *it = &table[at];
    if (it->gex_index &&
        dwell_gasnet_yield(it->gex_index, it->gex_fnptr, dwell_form(it->gex_flags), it->gex_nargs))
      continue;
    copy[passed] = *it;
    copy[passed].gex_fnptr =
        dwell_gasnet_handler(it->gex_fnptr, dwell_form(it->gex_flags), it->gex_nargs, &numbers[passed]);
    passed++;
  }
  int result = dwell_plain_gex_EP_RegisterHandlers(endpoint, copy, passed);
  for (size_t at = 0, next = 0; at < count && next < passed; at++) {
    if (table[at].gex_index && table[at].gex_index != copy[next].gex_index) continue;
    table[at].gex_index = copy[next].gex_index;
    dwell_gasnet_index(numbers[next], copy[next].gex_index);
    next++;
  }
  free(copy);
  free(numbers);
  return result;
}
extern char dwell_entry_gex_EP_RegisterHandlers[] DWELL_WEAK;
#undef gex_EP_RegisterHandlers
#define gex_EP_RegisterHandlers(...)                                              \
  (dwell_entry_gex_EP_RegisterHandlers ? dwell_RegisterHandlers(__VA_ARGS__)     \
                                       : dwell_plain_gex_EP_RegisterHandlers(__VA_ARGS__))

extern char dwell_entry_gasnet_attach[] DWELL_WEAK;
extern char dwell_entry_gasnet_exit[] DWELL_WEAK;
DWELL_SLOW void dwell_exit(int code) {
  dwell_gasnet_finish(dwell_entry_gasnet_exit, DWELL_SITE, DWELL_STACK);
  gasnet_exit(code);
}
#undef gasnet_exit
#define gasnet_exit(...) (dwell_entry_gasnet_exit ? dwell_exit(__VA_ARGS__) : gasnetc_exit(__VA_ARGS__))

/* GASNet-1: its calls are macros over those above. */
#include <gasnet.h>

DWELL_SLOW int dwell_attach(gasnet_handlerentry_t *table, int count, uintptr_t size, uintptr_t offset) {
  size_t room = count > 0 ? (size_t)count : 1;
  gasnet_handlerentry_t *copy = (gasnet_handlerentry_t *)malloc(room * sizeof(gasnet_handlerentry_t));
  unsigned *numbers = (unsigned *)malloc(room * sizeof(unsigned));
  if (!copy || !numbers) {
    free(copy);
    free(numbers);
    return gasnet_attach(table, count, size, offset);
  }
  unsigned char wanted[256] = {0};
  for (int at = 0; at < count; at++) wanted[(unsigned char)table[at].index] = 1;
  dwell_gasnet_move(wanted);
  int passed = 0;
  for (int at = 0; at < count; at++) {
    gex_AM_Fn_t real = (gex_AM_Fn_t)table[at].fnptr;
    if (table[at].index && dwell_gasnet_yield((unsigned char)table[at].index, real, 0, 0)) continue;
    copy[passed] = table[at];
    copy[passed].fnptr = (void (*)())dwell_gasnet_handler(real, 0, 0, &numbers[passed]);
    passed++;
  }
  int result = gasnet_attach(copy, passed, size, offset);
  for (int at = 0, next = 0; at < count && next < passed; at++) {
    if (table[at].index && table[at].index != copy[next].index) continue;
    table[at].index = copy[next].index;
    dwell_gasnet_index(numbers[next], (unsigned char)copy[next].index);
    next++;
  }
  free(copy);
  free(numbers);
  return result;
}
DWELL_SLOW int dwell_hooked_attach(gasnet_handlerentry_t *table, int count, uintptr_t size, uintptr_t offset) {
  dwell_word words[] = {(dwell_word)table, (dwell_word)count, (dwell_word)size, (dwell_word)offset, 0, 0};
  dwell_word state[DWELL_STATE];
  int recorded = dwell_gasnet_begin(dwell_entry_gasnet_attach, words, DWELL_SITE, DWELL_STACK, state);
  int result = dwell_attach(table, count, size, offset);
  words[5] = (dwell_word)result;
  if (recorded) dwell_gasnet_end(dwell_entry_gasnet_attach, words, state);
  if (result == GASNET_OK && dwell_team) dwell_start();
  return result;
}
#define gasnet_attach(...) (dwell_entry_gasnet_attach ? dwell_hooked_attach(__VA_ARGS__) : gasnet_attach(__VA_ARGS__))

#ifdef __cplusplus
}
#endif

#endif
#endif
