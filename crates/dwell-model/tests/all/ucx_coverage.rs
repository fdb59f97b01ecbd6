//! Compares the table of UCX with the library and the header that are installed.

use std::process::Command;

use dwell_model::table::CType;
use dwell_model::ucx::TABLE;

use crate::header;
use crate::needs;

#[test]
fn functions_and_signatures_are_those_of_the_library() {
    let (library, include) =
        ("/usr/lib/x86_64-linux-gnu/libucp.so.0", "/usr/include/ucp/api/ucp.h");
    if !std::path::Path::new(include).exists() {
        return needs::missing("UCX", &format!("there is no {include}"));
    }
    if !needs::tools("SYMBOLS", &["nm", "cc"]) {
        return;
    }
    let run = |command: &mut Command| {
        String::from_utf8(command.output().expect("tools are there").stdout)
            .expect("they print text")
    };
    let symbols = run(Command::new("nm").args(["-D", "--defined-only", library]));
    let text = run(Command::new("cc").args(["-E", "-P", "-x", "c", include]));
    let handles = ["ucp_ep_h", "ucp_rkey_h", "ucp_worker_h", "ucs_status_ptr_t"];
    // Integers and callbacks behind typedefs.
    let text = text.replace("ucs_status_t", "int").replace("ucp_atomic_op_t", "int");
    let text = text.replace("ucp_atomic_post_op_t", "int").replace("ucp_atomic_fetch_op_t", "int");
    let text = text.replace("ucp_tag_t", "uint64_t").replace("ucp_send_callback_t", "void *");
    let text = text.replace("unsigned ", "uint32_t ");
    let wanted = |name: &str| TABLE.find(name).is_some();
    let found = header::prototypes(&text, &handles, wanted).expect("the header is understood");
    for row in TABLE.rows {
        assert!(symbols.contains(&format!(" T {}\n", row.name())), "no {}", row.name());
        let prototype = found.get(row.name()).expect("and in the header");
        let types: Vec<CType> = prototype.arguments.iter().map(|it| it.of.ctype).collect();
        assert_eq!(row.arguments.types(), types, "{}: {prototype}", row.name());
        assert_eq!(row.returns, prototype.returns.ctype, "{}", row.name());
    }
}
