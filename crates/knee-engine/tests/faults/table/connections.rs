//! What servers do with new connections before the first request, above all with the TLS handshake.

use knee_core::outcome::{Blame, Fault};

use super::Ends::{self, In};
use super::{check_greeting, rows};
use crate::identity::Certificate::{self, Good};
use crate::identity::Greeting::{self, Tls};

const HANDSHAKE: Ends = In(Fault::TlsHandshake, Blame::Network);
const CERTIFICATE: Ends = In(Fault::TlsCertificate, Blame::Network);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "each table passes a reference to its row")]
fn check(greeting: &Greeting, ends: Ends) {
    let good = if *greeting == Greeting::Reset { Greeting::Plain } else { Tls(Good) };
    check_greeting(*greeting, good, ends);
}

rows! { check;
    a_reset_of_a_new_connection_is_a_reset: Greeting::Reset => In(Fault::Reset, Blame::Network);
    an_expired_certificate_is_not_accepted: Tls(Certificate::Expired) => CERTIFICATE;
    a_certificate_that_is_not_valid_yet_is_not_accepted: Tls(Certificate::Future) => CERTIFICATE;
    a_certificate_for_another_host_is_not_accepted: Tls(Certificate::OtherHost) => CERTIFICATE;
    a_certificate_of_an_unknown_authority_is_not_accepted: Tls(Certificate::OtherAuthority) => CERTIFICATE;
    a_self_signed_certificate_is_not_accepted: Tls(Certificate::SelfSigned) => CERTIFICATE;
    a_certificate_of_an_authority_is_not_accepted: Tls(Certificate::Own) => CERTIFICATE;
    a_client_certificate_that_is_missing_fails_the_handshake: Greeting::Mutual => HANDSHAKE;
    a_server_that_speaks_http_2_only_fails_the_handshake: Greeting::Http2Only => HANDSHAKE;
    a_server_that_picks_tls_1_0_fails_the_handshake: Greeting::AncientVersion => HANDSHAKE;
    a_server_that_picks_a_cipher_that_was_not_offered_fails_the_handshake: Greeting::AncientCipher => HANDSHAKE;
    a_handshake_failure_alert_fails_the_handshake: Greeting::Alert(40) => HANDSHAKE;
    a_version_alert_fails_the_handshake: Greeting::Alert(70) => HANDSHAKE;
    an_internal_error_alert_fails_the_handshake: Greeting::Alert(80) => HANDSHAKE;
    an_unknown_name_alert_fails_the_handshake: Greeting::Alert(112) => HANDSHAKE;
    an_alert_after_the_server_hello_fails_the_handshake: Greeting::AlertAfterHello => HANDSHAKE;
    a_plain_server_fails_the_handshake: Greeting::PlainResponse => HANDSHAKE;
    another_protocol_fails_the_handshake: Greeting::OtherProtocol => HANDSHAKE;
    a_record_that_is_too_long_fails_the_handshake: Greeting::LongRecord => HANDSHAKE;
    the_end_instead_of_a_server_hello_fails_the_handshake: Greeting::Close => HANDSHAKE;
    the_end_within_a_record_fails_the_handshake: Greeting::CutRecord => HANDSHAKE;
    the_end_after_the_server_hello_fails_the_handshake: Greeting::EndAfterHello => HANDSHAKE;
    a_reset_within_the_handshake_fails_it: Greeting::ResetInHandshake => HANDSHAKE;
    a_stalled_handshake_is_a_connect_timeout: Greeting::Stall => In(Fault::ConnectTimeout, Blame::Network);
    a_handshake_that_stalls_after_the_server_hello_is_a_connect_timeout:
        Greeting::StallAfterHello => In(Fault::ConnectTimeout, Blame::Network);
    a_response_before_any_request_is_unsolicited: Greeting::Hasty => In(Fault::Unsolicited, Blame::Protocol);
}

pub mod streams {
    //! TLS streams that break after the handshake.

    use knee_core::outcome::{Blame, Fault};

    use super::super::Ends::{self, In};
    use super::super::{check_over_tls, rows};
    use crate::behaviour::{After::Cut, Behaviour, Behaviour::Sends};

    const BROKEN: Ends = In(Fault::TlsBroken, Blame::Network);

    rows! { check_over_tls;
        bytes_that_are_no_tls_record_break_the_stream: Behaviour::BreakTls => BROKEN;
        an_alert_in_the_middle_of_a_response_breaks_the_stream: Behaviour::AlertInBody => BROKEN;
        a_body_that_ends_without_a_tls_closure_counts_as_cut: Behaviour::CutUntilClose => BROKEN;
        a_body_that_is_cut_before_its_length_is_short:
            Behaviour::CutInBody => In(Fault::ShortBody, Blame::Protocol);
        a_head_that_is_cut_is_short: Sends("HTTP/1.1 200 OK\r\nX: ", Cut) => In(Fault::ShortHead, Blame::Protocol);
        a_stream_that_is_cut_before_the_response_is_closed_early:
            Sends("", Cut) => In(Fault::ClosedEarly, Blame::Server);
    }
}
