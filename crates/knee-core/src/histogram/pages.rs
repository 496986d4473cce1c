//! The counts of many buckets: pages of 16 neighbouring buckets.
//!
//! A page is allocated when a value first falls into it, because the values of a histogram lie in a narrow range. Pages
//! come in blocks of one size. A histogram can therefore reuse the blocks that another one freed, and a run of hours
//! does not fragment its heap. Does not change the width of its counts; see `histogram/buckets.rs`.

use super::layout::LAST_INDEX;

const PAGE_BITS: u32 = 4;
const PAGE: usize = 1 << PAGE_BITS;
/// log2 of the number of pages in a block.
const BLOCK_BITS: u32 = 3;
const BLOCK: usize = 1 << BLOCK_BITS;
/// The slot of a page that does not exist.
const ABSENT: u16 = u16::MAX;
/// What an allocator adds to a block, about.
const PER_BLOCK: usize = 16;

/// More heap memory than any pages take, in bytes.
pub(super) const HEAP_BYTES_MAX: usize = (LAST_INDEX / PAGE + BLOCK) * (size_of::<[u64; PAGE]>() + 16);

type Page<C> = [C; PAGE];
type Block<C> = [Page<C>; BLOCK];

/// The type of a count.
pub(super) trait Count: Copy + Default + PartialEq {
    /// The sum; `None` if it does not fit.
    fn plus(self, more: u64) -> Option<Self>;
    fn number(self) -> u64;
}

impl Count for u16 {
    #[inline]
    fn plus(self, more: u64) -> Option<Self> {
        u64::from(self).checked_add(more).and_then(|sum| Self::try_from(sum).ok())
    }

    fn number(self) -> u64 {
        u64::from(self)
    }
}

/// Saturates: no run reaches 2^64 requests, but a file with made-up counts can be merged, too.
impl Count for u64 {
    #[inline]
    fn plus(self, more: u64) -> Option<Self> {
        Some(self.saturating_add(more))
    }

    fn number(self) -> u64 {
        self
    }
}

/// Counts by bucket number.
#[derive(Clone, Debug)]
pub(super) struct Pages<C> {
    /// Number of the page that the directory begins with.
    first: usize,
    /// Slot of each page from there on, or `ABSENT`.
    directory: Vec<u16>,
    /// Pages, by slot.
    #[allow(
        clippy::vec_box,
        reason = "blocks that were moved as the list grows would leave the holes again"
    )]
    blocks: Vec<Box<Block<C>>>,
    /// Used slots.
    slots: u16,
}

impl<C> Default for Pages<C> {
    fn default() -> Self {
        Self { first: 0, directory: Vec::new(), blocks: Vec::new(), slots: 0 }
    }
}

impl<C: Count> Pages<C> {
    /// Adds one; returns false and does nothing if the page does not exist or the sum does not fit.
    #[inline]
    pub(super) fn add_one(&mut self, bucket: usize) -> bool {
        let entry = (bucket >> PAGE_BITS).wrapping_sub(self.first);
        let slot = self.directory.get(entry).copied().unwrap_or(ABSENT) as usize;
        let Some(block) = self.blocks.get_mut(slot >> BLOCK_BITS) else { return false };
        let count = &mut block[slot & (BLOCK - 1)][bucket & (PAGE - 1)];
        let sum = count.plus(1);
        sum.map(|sum| *count = sum).is_some()
    }

    /// Adds `more`; returns false and does nothing if the sum does not fit.
    pub(super) fn add(&mut self, bucket: usize, more: u64) -> bool {
        let count = &mut self.page_mut(bucket >> PAGE_BITS)[bucket & (PAGE - 1)];
        let sum = count.plus(more);
        sum.map(|sum| *count = sum).is_some()
    }

    /// A page of buckets, allocated if it is new.
    fn page_mut(&mut self, page: usize) -> &mut Page<C> {
        self.reach(page);
        let entry = &mut self.directory[page - self.first];
        if *entry == ABSENT {
            *entry = self.slots;
            self.slots += 1;
            if (*entry as usize) >> BLOCK_BITS == self.blocks.len() {
                self.blocks.push(Box::new([[C::default(); PAGE]; BLOCK]));
            }
        }
        let slot = *entry as usize;
        &mut self.blocks[slot >> BLOCK_BITS][slot & (BLOCK - 1)]
    }

    /// Makes the directory long enough for a page.
    fn reach(&mut self, page: usize) {
        if self.directory.is_empty() {
            self.first = page;
        }
        let before = self.first.saturating_sub(page);
        if before > 0 {
            self.directory.splice(0..0, std::iter::repeat_n(ABSENT, before));
            self.first = page;
        }
        let entries = page - self.first + 1;
        if entries > self.directory.len() {
            self.directory.resize(entries, ABSENT);
        }
    }

    /// The page in a used slot.
    fn page(&self, slot: u16) -> &Page<C> {
        &self.blocks[slot as usize >> BLOCK_BITS][slot as usize & (BLOCK - 1)]
    }

    /// Numbers of the pages that hold something, ascending, and their counts.
    fn used(&self) -> impl Iterator<Item = (usize, &Page<C>)> {
        let present = (self.first..).zip(&self.directory).filter(|(_, slot)| **slot != ABSENT);
        let pages = present.map(|(page, slot)| (page, self.page(*slot)));
        // Cleared pages are kept; merging must not spread them.
        pages.filter(|(_, counts)| **counts != [C::default(); PAGE])
    }

    /// Whether no sum with a count of `other` can be too large.
    pub(super) fn has_room_for(&self, other: &Self) -> bool {
        let largest =
            |pages: &Self| pages.used().flat_map(|(_, counts)| counts).map(|count| count.number()).max();
        let both = largest(self).unwrap_or(0).saturating_add(largest(other).unwrap_or(0));
        C::default().plus(both).is_some()
    }

    /// Adds all counts of `other`, which must fit; see [`Pages::has_room_for`].
    pub(super) fn merge<D: Count>(&mut self, other: &Pages<D>) {
        for (page, theirs) in other.used() {
            for (mine, count) in self.page_mut(page).iter_mut().zip(theirs) {
                *mine = mine.plus(count.number()).unwrap_or(*mine);
            }
        }
    }

    /// Forgets all counts; keeps the pages that held some.
    pub(super) fn clear(&mut self) {
        let mut kept = 0;
        for entry in 0..self.directory.len() {
            let slot = self.directory[entry];
            if slot == ABSENT {
                continue;
            }
            let used = *self.page(slot) != [C::default(); PAGE];
            self.directory[entry] = if used { kept } else { ABSENT };
            kept += u16::from(used);
        }
        self.slots = kept;
        self.blocks.truncate((kept as usize).div_ceil(BLOCK));
        // Every page is zero now, so which of them a slot names does not matter.
        self.blocks.iter_mut().for_each(|block| **block = [[C::default(); PAGE]; BLOCK]);
    }

    /// Numbers and counts of the buckets that hold something, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.used().flat_map(|(page, counts)| {
            let used = counts.iter().enumerate().filter(|(_, count)| **count != C::default());
            used.map(move |(offset, count)| ((page << PAGE_BITS) + offset, count.number()))
        })
    }

    /// Bytes of heap memory, to a few per cent.
    pub(super) fn heap_bytes(&self) -> usize {
        let blocks = self.blocks.len() * (size_of::<Block<C>>() + PER_BLOCK);
        blocks + self.blocks.capacity() * size_of::<usize>() + self.directory.capacity() * size_of::<u16>()
    }
}
