//! What only some systems have: processes by descent, CPU placement, shares of a CPU.
//!
//! Everything that differs between Linux and the rest is in this folder; the rest of the crate does not
//! ask which system it runs on. What a system cannot do is an error with a reason, never silence.

#[cfg(all(target_os = "linux", not(knee_portable)))]
mod linux;
#[cfg(all(target_os = "linux", not(knee_portable)))]
pub(crate) use linux::*;

#[cfg(not(all(target_os = "linux", not(knee_portable))))]
mod portable;
#[cfg(not(all(target_os = "linux", not(knee_portable))))]
pub(crate) use portable::*;
