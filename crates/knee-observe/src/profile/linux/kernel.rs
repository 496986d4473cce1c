//! The functions of the kernel, from `/proc/kallsyms`.
//!
//! Read once: the file has ten megabytes. Functions of modules that are loaded later are not known.

use std::fs;

use super::parse::kernel_function;

/// Most functions that are known, and how far the last one reaches.
const FUNCTIONS_MAX: usize = 500_000;
const REACH: u64 = 1 << 20;

/// The functions of the kernel by address.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// Where each begins, where its name is in `names`, and how long the name is.
    functions: Vec<(u64, u32, u16)>,
    names: String,
}

impl Kernel {
    /// Reads the file; without functions if it hides its addresses.
    pub(super) fn read() -> Self {
        fs::read_to_string("/proc/kallsyms").map_or_else(|_| Self::default(), |text| Self::of(&text))
    }

    fn of(text: &str) -> Self {
        let mut kernel = Self::default();
        for (address, name) in text.lines().filter_map(kernel_function).take(FUNCTIONS_MAX) {
            let Ok(bytes) = u16::try_from(name.len()) else { continue };
            kernel.functions.push((address, kernel.names.len() as u32, bytes));
            kernel.names.push_str(name);
        }
        // Stable: of several names of one address, the first one of the file is taken.
        kernel.functions.sort_by_key(|(address, ..)| *address);
        kernel.functions.dedup_by_key(|(address, ..)| *address);
        kernel
    }

    /// Whether functions have no names.
    pub(super) const fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The function at an address.
    pub(super) fn function(&self, address: u64) -> Option<&str> {
        let place = self.functions.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
        let (start, name, bytes) = *self.functions.get(place)?;
        let name = name as usize;
        self.names.get(name..name + usize::from(bytes)).filter(|_| address - start < REACH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_function_that_begins_before_it() {
        let text = "ffffffff81000200 T tcp_recvmsg\nffffffff81000100 T tcp_sendmsg\n\
                    ffffffff81000200 t alias\nffffffff81000150 D data\nffffffffc0000000 t probe\t[net]\n";
        let kernel = Kernel::of(text);
        let base = 0xffff_ffff_8100_0000;
        for (offset, name) in [
            (0xff, None),
            (0x100, Some("tcp_sendmsg")),
            (0x1ff, Some("tcp_sendmsg")),
            (0x200, Some("tcp_recvmsg")),
            (0x200 + REACH, None),
        ] {
            assert_eq!(kernel.function(base + offset), name, "{offset:x}");
        }
        assert_eq!(kernel.function(0xffff_ffff_c000_0010), Some("probe"));
        assert!(Kernel::of("0000000000000000 T hidden\n").is_empty());
    }
}
