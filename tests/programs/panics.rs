//! A program in Rust that calls MPI and panics: with the standard message, with one of its own, and at last without
//! catching it, which ends it with code 101.

use std::ffi::{c_int, c_void};
use std::panic;

unsafe extern "C" {
    fn MPI_Init(argc: *mut c_int, argv: *mut c_void) -> c_int;
    fn MPI_Get_version(version: *mut c_int, subversion: *mut c_int) -> c_int;
    fn MPI_Finalize() -> c_int;
}

fn ask() -> c_int {
    let (mut version, mut subversion) = (0, 0);
    unsafe { MPI_Get_version(&mut version, &mut subversion) }
}

fn main() {
    unsafe { MPI_Init(std::ptr::null_mut(), std::ptr::null_mut()) };
    for round in 0..5 {
        ask();
        let caught = panic::catch_unwind(|| {
            ask();
            assert!(round % 2 == 0, "round {round} is odd");
        });
        println!("round {round}: {}", caught.is_ok());
    }
    panic::set_hook(Box::new(|info| eprintln!("a hook of the program: {:?}", info.payload_as_str())));
    let caught = panic::catch_unwind(|| panic!("with another hook"));
    println!("caught {}", caught.is_err());
    ask();
    unsafe { MPI_Finalize() };
    panic!("at the end");
}
