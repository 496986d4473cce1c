//! A member of the workspace depends only on members listed above it in the root manifest.
//!
//! Cargo refuses cycles between crates; this also refuses the edges that point up and would only
//! become a cycle later. Kinds of dependency (normal, for tests, for the build) are not distinguished.

use cargo_metadata::Package;

use super::Violation;
use super::tree::Tree;

const ROOT: &str = "Cargo.toml";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let members = tree.text(ROOT).map(members).unwrap_or_default();
    let edges: Vec<_> = tree.packages().iter().flat_map(|package| edges(tree, package)).collect();
    violations(&members, &edges)
}

/// The directories of the members, in the order of the manifest.
fn members(manifest: &str) -> Vec<String> {
    let manifest: toml::Table = toml::from_str(manifest).unwrap_or_default();
    let members = manifest.get("workspace").and_then(|workspace| workspace.get("members"));
    let members = members.and_then(toml::Value::as_array).into_iter().flatten();
    members.filter_map(|member| Some(member.as_str()?.to_owned())).collect()
}

/// From the directory of a package to the directories of the packages it depends on.
fn edges(tree: &Tree, package: &Package) -> Vec<(String, String)> {
    let Some(from) = package.manifest_path.parent().and_then(|path| tree.relative(path.as_std_path())) else {
        return Vec::new();
    };
    let paths = package.dependencies.iter().filter_map(|dependency| dependency.path.as_ref());
    paths.filter_map(|path| Some((from.clone(), tree.relative(path.as_std_path())?))).collect()
}

fn violations(members: &[String], edges: &[(String, String)]) -> Vec<Violation> {
    let rank = |directory: &str| members.iter().position(|member| member == directory);
    let mut violations = Vec::new();
    for member in members.iter().filter(|member| member.contains('*')) {
        let text = format!("member `{member}`: list every member by name, so that the list has an order");
        violations.push(Violation::new(ROOT, 0, text));
    }
    for (from, to) in edges {
        let manifest = format!("{from}/{ROOT}");
        match (rank(from), rank(to)) {
            (Some(lower), Some(upper)) if upper >= lower => {
                let text = format!("depends on {to}, which is not listed above {from} in the root {ROOT}");
                violations.push(Violation::new(&manifest, 0, text));
            }
            (_, None) => {
                violations.push(Violation::new(&manifest, 0, format!("depends on {to}, which is no member")));
            }
            _ => {}
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace]\nmembers = [\"crates/core\", \"crates/engine\", \"crates/app\"]\n";

    fn found_for(edges: &[(&str, &str)]) -> Vec<String> {
        let edges: Vec<_> = edges.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        violations(&members(MANIFEST), &edges).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn edges_that_point_down_pass() {
        let edges = [
            ("crates/app", "crates/engine"),
            ("crates/app", "crates/core"),
            ("crates/engine", "crates/core"),
        ];
        assert_eq!(found_for(&edges), [] as [&str; 0]);
    }

    #[test]
    fn an_edge_that_points_up_is_found() {
        let text = "crates/core/Cargo.toml: depends on crates/engine, \
                    which is not listed above crates/core in the root Cargo.toml";
        assert_eq!(found_for(&[("crates/core", "crates/engine")]), [text]);
    }

    #[test]
    fn a_dependency_outside_of_the_list_is_found() {
        assert_eq!(found_for(&[("crates/app", "vendor/x")]).len(), 1);
    }

    #[test]
    fn a_pattern_in_the_list_is_found_because_it_has_no_order() {
        assert_eq!(violations(&["crates/*".to_owned()], &[]).len(), 1);
    }

    #[test]
    fn the_edges_of_this_repository_are_seen() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let tree = Tree::read(root).unwrap();
        let edges: Vec<_> = tree.packages().iter().flat_map(|package| edges(&tree, package)).collect();
        assert!(
            edges.contains(&("crates/knee-engine".to_owned(), "crates/knee-core".to_owned())),
            "{edges:?}"
        );
    }
}
