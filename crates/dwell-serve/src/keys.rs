//! Access keys: one-time codes that start a session, and the secrets of sessions.
//!
//! On a login node every user can connect to a port on 127.0.0.1, so an address alone gives no access. A code is
//! printed where only its owner reads it, works once, and is exchanged for a secret that the page keeps for its tab and
//! gives to other tabs of its browser.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use subtle::{Choice, ConstantTimeEq};

/// The largest numbers of unused codes and of sessions. Beyond them the oldest are forgotten.
const MOST_CODES: usize = 16;
const MOST_SESSIONS: usize = 64;

type Key = [u8; 32];

/// All codes and secrets of a server.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    codes: VecDeque<Key>,
    sessions: VecDeque<Key>,
}

/// Prints the numbers of keys, and nothing of any key.
impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} codes, {} sessions", self.codes.len(), self.sessions.len())
    }
}

impl Keys {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a new code.
    pub(crate) fn code(&self) -> std::io::Result<String> {
        let key = random()?;
        let mut inner = self.lock();
        inner.codes.push_back(key);
        if inner.codes.len() > MOST_CODES {
            inner.codes.pop_front();
        }
        Ok(text(&key))
    }

    /// Returns `true` if a code was neither used nor forgotten.
    pub(crate) fn awaits(&self, code: &str) -> bool {
        parse(code).is_some_and(|code| find(&self.lock().codes, &code).is_some())
    }

    /// Consumes a code, and returns the secret of a new session. Returns `None` for a wrong code, or one that was used
    /// before.
    pub(crate) fn exchange(&self, code: &str) -> std::io::Result<Option<String>> {
        let Some(code) = parse(code) else { return Ok(None) };
        let mut inner = self.lock();
        let Some(at) = find(&inner.codes, &code) else { return Ok(None) };
        inner.codes.remove(at);
        let secret = random()?;
        inner.sessions.push_back(secret);
        if inner.sessions.len() > MOST_SESSIONS {
            inner.sessions.pop_front();
        }
        Ok(Some(text(&secret)))
    }

    /// Returns `true` if a secret is that of a session.
    pub(crate) fn knows(&self, secret: &str) -> bool {
        parse(secret).is_some_and(|secret| find(&self.lock().sessions, &secret).is_some())
    }
}

/// Finds a key. It compares all keys in full, so that the time taken reveals nothing.
fn find(keys: &VecDeque<Key>, wanted: &Key) -> Option<usize> {
    let mut found = None;
    for (at, key) in keys.iter().enumerate() {
        let same: Choice = key.ct_eq(wanted);
        if bool::from(same) {
            found = Some(at);
        }
    }
    found
}

fn random() -> std::io::Result<Key> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(std::io::Error::other)?;
    Ok(key)
}

fn text(key: &Key) -> String {
    key.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn parse(text: &str) -> Option<Key> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != 32 || !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|it| it as u8);
    let mut key = [0; 32];
    for (byte, &[high, low]) in key.iter_mut().zip(pairs) {
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::Keys;

    #[test]
    fn a_code_works_once() {
        let keys = Keys::default();
        let code = keys.code().unwrap();
        assert_eq!(code.len(), 64);
        assert!(!keys.knows(&code), "a code is no secret");
        assert!(keys.awaits(&code));
        let secret = keys.exchange(&code).unwrap().unwrap();
        assert!(!keys.awaits(&code) && !keys.awaits(&secret));
        assert!(keys.knows(&secret));
        assert_eq!(keys.exchange(&code).unwrap(), None);
        assert_eq!(keys.exchange(&secret).unwrap(), None, "a secret is no code");
        for wrong in ["", "00", &"0".repeat(64), &"x".repeat(64), &format!("{secret}0")] {
            assert!(!keys.knows(wrong), "{wrong}");
            assert_eq!(keys.exchange(wrong).unwrap(), None);
        }
    }

    #[test]
    fn nothing_of_a_key_is_printed() {
        let keys = Keys::default();
        let code = keys.code().unwrap();
        assert!(!format!("{keys:?}").contains(&code));
    }
}
