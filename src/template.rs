//! Values templates: parse once, know which fields they read, render.
