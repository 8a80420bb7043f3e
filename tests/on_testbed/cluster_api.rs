//! Upgrades with the real Cluster API, which take longest: they begin among the first, because tests begin in the order of their
//! names.

use crate::operator::upgrades;

#[test]
fn addons_move_before_the_control_plane() {
    upgrades::addons_move_before_the_control_plane();
}
