//! Interoperation with the C library: each side reads what the other wrote.
//!
//! Two C programs are made at test time from the headers of the installed libotf2 (see
//! `generate.py`): one writes every record there is and prints it, one prints every record
//! that libotf2 delivers. Our side prints records in the same form through
//! [`fields`](otf2::Record::fields), and lines are compared one by one. So a wrong field in one of our
//! record tables, and a wrong byte from one of our writers, has nowhere to hide.
//!
//! Without libotf2, `cc` or `python3` the tests say that they are skipped, and pass; with
//! `DWELL_REQUIRE_OTF2=1` they fail instead.
//!
//! | module | what it shows |
//! |---|---|
//! | `reading` | libotf2 writes, we read: every record, mapping tables, clock offsets, Score-P archives |
//! | `writing` | we write, libotf2 reads, in both byte orders; and our bytes are those of libotf2 |
//! | `corners` | the two kinds of event file on which libotf2 itself fails |
//! | `seeking` | seeking and stopping give the same events as reading from the beginning |

mod canonical;
mod copy;
mod corners;
mod reading;
mod seeking;
mod tools;
mod writing;
