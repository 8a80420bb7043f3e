//! The one way in which objects are written as YAML.
