//! Groups and checks: k6's tree of named parts of a script, with what passed and failed in each.
//!
//! Does not time groups (`group_duration` does) and does not print. Both are named by the script at run
//! time, so their number is bounded here.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

/// Separator of the names in a path.
pub const SEPARATOR: &str = "::";
/// Most groups that are counted separately.
pub const GROUPS_MAX: usize = 2_000;
/// Most checks that are counted separately, all groups together.
pub const CHECKS_MAX: usize = 10_000;
/// Most bytes of all names and paths together.
pub const NAMES_MAX: usize = 4 << 20;
/// Counts the checks after the first [`CHECKS_MAX`].
pub const OTHER: &str = "(other checks)";

/// A group's place in the tree of one [`Groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub usize);

/// One named check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Passes.
    pub passes: u64,
    /// Failures.
    pub fails: u64,
    /// Time of its first evaluation, on the run's clock; checks are listed in this order.
    pub first: u64,
}

/// One group.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name; empty for the root.
    pub name: String,
    /// Names of all groups it lies in and its own, `::a::b`; empty for the root.
    pub path: String,
    /// Its parent; `None` for the root.
    pub parent: Option<GroupId>,
    /// Time of its first entry, on the run's clock; groups are listed in this order.
    pub first: u64,
    /// The checks made in it.
    pub checks: Vec<Check>,
    by_name: FxHashMap<String, usize>,
}

/// The tree of groups of one worker, or of all of them merged.
#[derive(Clone, Debug)]
pub struct Groups {
    nodes: Vec<Group>,
    by_path: FxHashMap<String, GroupId>,
    named: usize,
    /// Bytes of all names and paths.
    bytes: usize,
    /// Groups entered that are counted as the one around them.
    nested: u64,
    /// Checks counted as [`OTHER`].
    lumped: u64,
}

impl Default for Groups {
    fn default() -> Self {
        Self::new()
    }
}

impl Groups {
    /// The root group; everything outside of `group()` lies in it.
    pub const ROOT: GroupId = GroupId(0);

    /// A tree with only the root.
    pub fn new() -> Self {
        let root = Group::new(String::new(), String::new(), None, 0);
        Self {
            nodes: vec![root],
            by_path: FxHashMap::from_iter([(String::new(), Self::ROOT)]),
            named: 0,
            bytes: 0,
            nested: 0,
            lumped: 0,
        }
    }

    /// The group `name` inside of `parent`, made if it is new; `parent` itself when there are too many.
    pub fn enter(&mut self, parent: GroupId, name: &str, at: u64) -> GroupId {
        let path = format!("{}{SEPARATOR}{name}", self.nodes[parent.0].path);
        if let Some(&id) = self.by_path.get(&path) {
            let group = &mut self.nodes[id.0];
            group.first = group.first.min(at);
            return id;
        }
        if self.nodes.len() >= GROUPS_MAX || self.bytes + path.len() > NAMES_MAX {
            self.nested += 1;
            return parent;
        }
        self.bytes += path.len();
        let id = GroupId(self.nodes.len());
        self.nodes.push(Group::new(name.to_owned(), path.clone(), Some(parent), at));
        self.by_path.insert(path, id);
        id
    }

    /// Counts one check made in `group`.
    pub fn check(&mut self, group: GroupId, name: &str, is_pass: bool, at: u64) {
        self.count(group, name, u64::from(is_pass), u64::from(!is_pass), at);
    }

    pub(super) fn count(&mut self, group: GroupId, name: &str, passes: u64, fails: u64, at: u64) {
        let is_full = self.named >= CHECKS_MAX || self.bytes + name.len() > NAMES_MAX;
        let group = &mut self.nodes[group.0];
        let index = match group.by_name.get(name) {
            Some(&index) => index,
            None if is_full && name != OTHER => {
                self.lumped += passes + fails;
                return self.count(Self::ROOT, OTHER, passes, fails, at);
            }
            None => {
                self.named += 1;
                self.bytes += name.len();
                group.add(name, at)
            }
        };
        let check = &mut group.checks[index];
        check.passes += passes;
        check.fails += fails;
        check.first = check.first.min(at);
    }

    /// Takes over what another tree has counted.
    pub fn merge(&mut self, other: &Self) {
        self.nested += other.nested;
        self.lumped += other.lumped;
        // A parent always stands before its children, so its place here is known when they come.
        let mut places = vec![Self::ROOT; other.nodes.len()];
        for (index, group) in other.nodes.iter().enumerate() {
            if let Some(parent) = group.parent {
                places[index] = self.enter(places[parent.0], &group.name, group.first);
            }
            for check in &group.checks {
                self.count(places[index], &check.name, check.passes, check.fails, check.first);
            }
        }
    }

    /// Every group, a parent before its children.
    pub fn all(&self) -> impl Iterator<Item = &Group> {
        self.nodes.iter()
    }

    /// The group at `path`, with every group around it; made if it is new.
    pub fn descend(&mut self, path: &str, at: u64) -> GroupId {
        if let Some(id) = self.find(path) {
            return id;
        }
        let names = path.split(SEPARATOR).skip(1);
        names.fold(Self::ROOT, |parent, name| self.enter(parent, name, at))
    }

    /// Groups and checks that were not counted apart.
    pub(super) const fn lost(&self) -> u64 {
        self.nested + self.lumped
    }

    /// One group.
    pub fn group(&self, id: GroupId) -> &Group {
        &self.nodes[id.0]
    }

    /// The group with this path.
    pub fn find(&self, path: &str) -> Option<GroupId> {
        self.by_path.get(path).copied()
    }

    /// The groups directly inside of `parent`, in the order they were first entered.
    pub fn children(&self, parent: GroupId) -> Vec<GroupId> {
        let inside = |id: &GroupId| self.nodes[id.0].parent == Some(parent);
        let mut children: Vec<GroupId> = (0..self.nodes.len()).map(GroupId).filter(inside).collect();
        children.sort_by_key(|id| self.nodes[id.0].first);
        children
    }

    /// The checks made directly in `group`, in the order they were first made.
    pub fn checks(&self, group: GroupId) -> Vec<&Check> {
        let mut checks: Vec<&Check> = self.nodes[group.0].checks.iter().collect();
        checks.sort_by_key(|check| check.first);
        checks
    }

    /// The checks of all groups, those of one name together, in the order they were first made.
    pub fn all_checks(&self) -> Vec<Check> {
        let mut all: Vec<Check> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for check in self.nodes.iter().flat_map(|group| &group.checks) {
            let place = *places.entry(&check.name).or_insert_with(|| {
                all.push(Check { passes: 0, fails: 0, ..check.clone() });
                all.len() - 1
            });
            let sum = &mut all[place];
            sum.passes += check.passes;
            sum.fails += check.fails;
            sum.first = sum.first.min(check.first);
        }
        all.sort_by_key(|check| check.first);
        all
    }

    /// Warning for the user if there were too many names to keep apart.
    pub fn complaint(&self) -> Option<String> {
        if self.nested == 0 && self.lumped == 0 {
            return None;
        }
        Some(format!(
            "more than {CHECKS_MAX} checks or {GROUPS_MAX} groups, or names of more than {} MiB: {} checks count as \
             `{OTHER}`, and {} groups as part of their parent group; leave ids out of the names",
            NAMES_MAX >> 20,
            self.lumped,
            self.nested
        ))
    }
}

impl Group {
    fn new(name: String, path: String, parent: Option<GroupId>, first: u64) -> Self {
        Self { name, path, parent, first, checks: Vec::new(), by_name: FxHashMap::default() }
    }

    fn add(&mut self, name: &str, at: u64) -> usize {
        let index = self.checks.len();
        self.checks.push(Check { name: name.to_owned(), passes: 0, fails: 0, first: at });
        self.by_name.insert(name.to_owned(), index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_one_name_in_different_groups_are_listed_once_in_the_order_they_were_made() {
        let mut groups = Groups::new();
        let outer = groups.enter(Groups::ROOT, "outer", 1);
        let inner = groups.enter(outer, "inner", 2);
        groups.check(outer, "one", true, 3);
        groups.check(inner, "two", false, 4);
        groups.check(inner, "one", true, 5);
        groups.check(Groups::ROOT, "top", true, 6);
        assert_eq!(groups.group(inner).path, "::outer::inner");
        let listed: Vec<_> = groups.all_checks().into_iter().map(|c| (c.name, c.passes, c.fails)).collect();
        assert_eq!(listed, [("one".into(), 2, 0), ("two".into(), 0, 1), ("top".into(), 1, 0)]);
    }

    #[test]
    fn trees_of_workers_merge_by_path() {
        let mut first = Groups::new();
        let a = first.enter(Groups::ROOT, "a", 10);
        first.check(a, "x", true, 11);
        let mut second = Groups::new();
        let b = second.enter(Groups::ROOT, "b", 1);
        let a = second.enter(Groups::ROOT, "a", 5);
        second.check(a, "x", false, 6);
        second.check(b, "y", true, 2);
        first.merge(&second);
        let names: Vec<_> =
            first.children(Groups::ROOT).into_iter().map(|id| first.group(id).name.clone()).collect();
        assert_eq!(names, ["b", "a"]);
        let a = first.find("::a").unwrap();
        let check = first.checks(a)[0];
        assert_eq!((check.passes, check.fails, check.first), (1, 1, 6));
    }

    #[test]
    fn names_made_without_end_are_bounded_and_every_check_still_counts() {
        let mut groups = Groups::new();
        for i in 0..CHECKS_MAX as u64 + 5 {
            groups.check(Groups::ROOT, &format!("check {i}"), true, i);
        }
        let checks = groups.all_checks();
        assert_eq!(checks.len(), CHECKS_MAX + 1);
        assert_eq!(checks.iter().map(|check| check.passes).sum::<u64>(), CHECKS_MAX as u64 + 5);
        assert!(groups.complaint().unwrap().contains("5 checks count as `(other checks)`"));
        assert_eq!(Groups::new().complaint(), None);
    }
}
