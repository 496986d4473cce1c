//! A profile of a process: the functions in which its CPU time is spent, and the kinds of its system calls.
//!
//! Off unless it is asked for. Only Linux has it, on the architectures whose perf events are known here.

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(knee_portable)
))]
mod linux;

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(knee_portable)
)))]
mod portable;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(knee_portable)
))]
pub(crate) use linux::Profile;

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(knee_portable)
)))]
pub(crate) use portable::Profile;
