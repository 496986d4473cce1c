//! The payload of closes: a code and a reason (RFC 6455, sections 5.5.1 and 7.4).
//!
//! Does not decide when a side closes.

/// The code that stands for a close without one. Never sent.
pub const NO_STATUS: u16 = 1005;

/// The payload of a close with this code; none for [`NO_STATUS`].
pub fn payload(code: u16, reason: &str) -> Vec<u8> {
    if code == NO_STATUS {
        return Vec::new();
    }
    let mut payload = code.to_be_bytes().to_vec();
    payload.extend_from_slice(reason.as_bytes());
    payload
}

/// Reads a payload. Fails with what is wrong with it.
pub fn read(payload: &[u8]) -> Result<(u16, String), String> {
    let [high, low, reason @ ..] = payload else { return Ok((NO_STATUS, String::new())) };
    let code = u16::from_be_bytes([*high, *low]);
    if !is_allowed(code) {
        return Err(format!("bad close code {code}"));
    }
    let reason = std::str::from_utf8(reason).map_err(|_| "invalid utf8 payload in close frame".to_owned())?;
    Ok((code, reason.to_owned()))
}

/// Whether a server can send this code.
const fn is_allowed(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1013 | 3000..=4999)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_reads_as_it_was_written() {
        assert_eq!(read(&payload(1011, "boom")), Ok((1011, "boom".to_owned())));
        assert_eq!(read(&payload(NO_STATUS, "lost")), Ok((NO_STATUS, String::new())));
    }

    #[test]
    fn codes_that_must_not_be_sent_and_broken_texts_are_refused() {
        for code in [0_u16, 999, 1004, 1005, 1006, 1014, 1015, 2999, 5000] {
            assert_eq!(read(&code.to_be_bytes()), Err(format!("bad close code {code}")), "{code}");
        }
        assert!(read(&[0x03, 0xe8, 0xff]).is_err());
    }
}
