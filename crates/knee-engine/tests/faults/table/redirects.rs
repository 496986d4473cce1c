//! Redirects that lead nowhere.

use knee_core::outcome::{Blame, Fault};

use super::Ends::{self, In, With};
use super::{check_with, rows};
use crate::behaviour::Behaviour;

const BAD_REDIRECT: Ends = In(Fault::BadRedirect, Blame::Protocol);

fn check(behaviour: &Behaviour, ends: Ends) {
    check_with(behaviour, ends, |drive| drive.with(|settings| settings.redirects = 4));
}

fn to(location: &str) -> Behaviour {
    Behaviour::Redirect(302, location.to_owned())
}

rows! { check;
    a_redirect_without_a_location_is_a_response: Behaviour::RedirectWithoutLocation => With(302);
    a_redirect_to_another_host_is_a_response: to("http://other.invalid/") => With(302);
    a_redirect_to_another_port_is_a_response: to("http://127.0.0.1:1/") => With(302);
    a_redirect_to_another_scheme_is_a_response: to("ftp://127.0.0.1/") => With(302);
    a_location_with_a_broken_address_is_a_bad_redirect: to("http://[broken") => BAD_REDIRECT;
    a_location_with_a_port_too_large_is_a_bad_redirect: to("http://h:99999/") => BAD_REDIRECT;
    a_location_without_a_host_is_a_bad_redirect: to("http://") => BAD_REDIRECT;
}
