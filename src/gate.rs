//! Named checks that keep a plan, or a part of it, from being delivered.
