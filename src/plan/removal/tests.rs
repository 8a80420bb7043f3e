use super::*;

/// An object of a removed addon.
const REMOVED: Belonging = Belonging { delivers: Delivers::Dropped, suspended: false, terminating: false };

#[test]
fn what_becomes_of_an_object() {
    for (object, may_go, expected, why) in [
        (REMOVED, true, Fate::Due, "the release has it no more"),
        (REMOVED, false, Fate::Waits, "what replaces it may be held"),
        (
            Belonging { delivers: Delivers::Replaced, ..REMOVED },
            true,
            Fate::Due,
            "what the release has comes when it is gone",
        ),
        (
            Belonging { delivers: Delivers::Replaced, ..REMOVED },
            false,
            Fate::Waits,
            "what the release has is held",
        ),
        (Belonging { delivers: Delivers::Wanted, ..REMOVED }, true, Fate::Stays, "the release has it"),
        (
            Belonging { delivers: Delivers::Anothers, ..REMOVED },
            true,
            Fate::Stays,
            "an earlier ClusterAddon made it",
        ),
        (Belonging { suspended: true, ..REMOVED }, true, Fate::Waits, "somebody wants it left alone"),
        (Belonging { terminating: true, ..REMOVED }, true, Fate::Goes, "it is deleted already"),
        (Belonging { terminating: true, ..REMOVED }, false, Fate::Goes, "it is deleted already"),
        (
            Belonging { delivers: Delivers::Wanted, terminating: true, ..REMOVED },
            true,
            Fate::Stays,
            "what the release has is delivered again, not removed",
        ),
    ] {
        assert_eq!(fate(object, may_go), expected, "{why}");
    }
}

#[test]
fn a_replaced_addon_spends_the_budget_like_a_dropped_one() {
    let due = |delivers| fate(Belonging { delivers, ..REMOVED }, true);
    for (allowance, expected) in [
        (0, [Fate::Waits, Fate::Goes, Fate::Waits]),
        (1, [Fate::Due, Fate::Goes, Fate::Waits]),
        (5, [Fate::Due, Fate::Goes, Fate::Due]),
    ] {
        let mut fates = [due(Delivers::Replaced), Fate::Goes, due(Delivers::Dropped)];
        let going = spend(&mut fates, allowance);
        assert_eq!((fates, going), (expected, allowance.min(2)));
    }
}
