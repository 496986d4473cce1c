//! Understands the texts that say what is at an address: `/proc/PID/maps`, `/proc/PID/status`, `/tmp/perf-PID.map`,
//! `/proc/kallsyms`, and the format of a trace event.
//!
//! Pure: takes the text of a file, returns what is in it.

/// A part of the memory of a process that can be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Where `start` is in the file.
    pub(super) offset: u64,
    /// Device and inode: the same for all processes that have the file.
    pub(super) file: (String, u64),
    /// Path of the file in the eyes of the process, a name in brackets, or nothing.
    pub(super) path: String,
}

/// What can be executed, of `/proc/PID/maps`, in the order of addresses.
pub(super) fn mappings(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(mapping).collect()
}

/// A line `START-END PERMISSIONS OFFSET DEVICE INODE PATH`. The path can contain spaces.
fn mapping(line: &str) -> Option<Mapping> {
    let (range, rest) = line.split_once(' ')?;
    let (permissions, rest) = rest.split_once(' ')?;
    if !permissions.contains('x') {
        return None;
    }
    let (offset, rest) = rest.split_once(' ')?;
    let (device, rest) = rest.split_once(' ')?;
    let (inode, path) = rest.split_once(' ').unwrap_or((rest, ""));
    let (start, end) = range.split_once('-')?;
    Some(Mapping {
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        offset: hexadecimal(offset)?,
        file: (device.to_owned(), inode.parse().ok()?),
        path: path.trim_start().to_owned(),
    })
}

/// What `/proc/PID/status` says of a process: its effective user, and its number where it lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) user: Option<u32>,
    /// In its own namespace of processes, by which programs name their files.
    pub(super) own_pid: Option<u32>,
}

/// Reads `/proc/PID/status`.
pub(super) fn status(text: &str) -> Status {
    let words = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().split_ascii_whitespace()
    };
    Status {
        user: words("Uid:").nth(1).and_then(|word| word.parse().ok()),
        own_pid: words("NSpid:").next_back().and_then(|word| word.parse().ok()),
    }
}

/// A line `START SIZE NAME` of `/tmp/perf-PID.map`, numbers hexadecimal. The name can contain spaces.
pub(super) fn compiled(line: &str) -> Option<(u64, u64, &str)> {
    let (start, rest) = line.split_once(' ')?;
    let (bytes, name) = rest.split_once(' ')?;
    let name = name.trim();
    (!name.is_empty()).then_some((hexadecimal(start)?, hexadecimal(bytes)?, name))
}

/// A line `ADDRESS KIND NAME [MODULE]` of `/proc/kallsyms`, if it is a function. Addresses are zero for those who must not
/// see them.
pub(super) fn kernel_function(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let (address, kind, name) = (hexadecimal(words.next()?)?, words.next()?, words.next()?);
    (matches!(kind, "t" | "T" | "w" | "W") && address != 0).then_some((address, name))
}

/// Where a field is in a trace event, from its `format`: `field:long id; offset:8; size:8; signed:1;`. `None` if it has
/// not eight bytes.
pub(super) fn field_offset(format: &str, name: &str) -> Option<usize> {
    let line = format.lines().find(|line| {
        let declared = line.trim_start().strip_prefix("field:").and_then(|rest| rest.split(';').next());
        declared.and_then(|declared| declared.rsplit(' ').next()) == Some(name)
    })?;
    let value = |key: &str| {
        let part = line.split(';').find_map(|part| part.trim_start().strip_prefix(key))?;
        part.trim().parse::<usize>().ok()
    };
    value("offset:").filter(|_| value("size:") == Some(8))
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_executed_is_read_with_its_file_and_everything_else_is_left_out() {
        let text = "\
55d0c0a00000-55d0c0a28000 r--p 00000000 fe:00 1312                       /usr/bin/shop
55d0c0a28000-55d0c0b00000 r-xp 00028000 fe:00 1312                       /opt/my shop/bin (deleted)
7f00a0000000-7f00a0100000 rwxp 00000000 00:00 0\u{20}
7ffd3a5f2000-7ffd3a5f4000 r-xp 00000000 00:00 0                          [vdso]
nonsense
7f-80 r-xp
";
        let found = mappings(text);
        let paths: Vec<&str> = found.iter().map(|mapping| mapping.path.as_str()).collect();
        assert_eq!(paths, ["/opt/my shop/bin (deleted)", "", "[vdso]"]);
        let shop = &found[0];
        assert_eq!((shop.start, shop.end, shop.offset), (0x55d0_c0a2_8000, 0x55d0_c0b0_0000, 0x28000));
        assert_eq!(shop.file, ("fe:00".to_owned(), 1312));
    }

    #[test]
    fn the_user_and_the_own_number_of_a_process_in_a_container_are_read() {
        let text = "Name:\tnode\nUid:\t1000\t1001\t1000\t1000\nNSpid:\t4242\t7\n";
        assert_eq!(status(text), Status { user: Some(1001), own_pid: Some(7) });
        assert_eq!(status("Name:\tx\n"), Status::default());
    }

    #[test]
    fn functions_that_a_runtime_compiled_are_read_line_by_line() {
        for (line, function) in [
            ("3ef414c0 398 JS:*render /app/a b.js:3", Some((0x3ef4_14c0, 0x398, "JS:*render /app/a b.js:3"))),
            ("0x10 0x20 f", Some((0x10, 0x20, "f"))),
            ("10 20", None),
            ("10 20 ", None),
            ("x 20 f", None),
            ("", None),
        ] {
            assert_eq!(compiled(line), function, "{line}");
        }
    }

    #[test]
    fn functions_of_the_kernel_are_read_unless_their_addresses_are_hidden() {
        for (line, function) in [
            ("ffffffff81000000 T tcp_sendmsg", Some((0xffff_ffff_8100_0000, "tcp_sendmsg"))),
            ("ffffffffc0001000 t nft_do_chain\t[nf_tables]", Some((0xffff_ffff_c000_1000, "nft_do_chain"))),
            ("ffffffff82000000 D jiffies", None),
            ("0000000000000000 T tcp_sendmsg", None),
            ("ffffffff81000000", None),
        ] {
            assert_eq!(kernel_function(line), function, "{line}");
        }
    }

    #[test]
    fn the_number_of_a_system_call_is_found_where_the_format_says() {
        let format = "name: sys_enter\nID: 348\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
                      \tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\
                      \tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n";
        assert_eq!(field_offset(format, "id"), Some(8));
        assert_eq!(field_offset(format, "common_type"), None, "it has two bytes");
        assert_eq!(field_offset(format, "nr"), None);
    }
}
