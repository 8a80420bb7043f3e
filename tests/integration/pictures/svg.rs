//! Boxes, arrows and texts as SVG, in one style.

use std::fmt::Write as _;

use stackflux::api::conditions::ConditionStatus;

/// Who acts; each has a colour.
#[derive(Clone, Copy)]
pub(super) enum Actor {
    You,
    Stackflux,
    Flux,
    ClusterApi,
}

impl Actor {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::You => "you",
            Self::Stackflux => "stackflux",
            Self::Flux => "Flux",
            Self::ClusterApi => "Cluster API",
        }
    }

    /// The colours of the area and of the line around it.
    fn colours(self) -> (&'static str, &'static str) {
        match self {
            Self::You => ("#e8f1fb", "#2b6cb0"),
            Self::Stackflux => ("#e6f6ec", "#2f855a"),
            Self::Flux => ("#f3ecfb", "#6b46c1"),
            Self::ClusterApi => ("#fdf3e0", "#b7791f"),
        }
    }
}

const TEXT: &str = "#1f2933";

/// A picture that is being drawn.
pub(super) struct Picture(String);

impl Picture {
    pub(super) fn new(width: u32, height: u32, title: &str) -> Self {
        let mut picture = Self(String::new());
        let size = format!("width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\"");
        picture.line(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" {size} font-family=\"system-ui, sans-serif\" font-size=\"14\" role=\"img\">"
        ));
        picture.line(
            "<!-- Drawn by tests/integration/pictures.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->",
        );
        picture.line(&format!("<title>{}</title>", escaped(title)));
        picture.line(
            "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#52606d\"/></marker></defs>",
        );
        picture.line(&format!("<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#ffffff\"/>"));
        picture
    }

    pub(super) fn end(mut self) -> String {
        self.line("</svg>");
        self.0
    }

    fn line(&mut self, text: &str) {
        writeln!(self.0, "{text}").unwrap();
    }

    fn text(&mut self, (x, y): (u32, u32), style: &str, text: &str) {
        self.line(&format!("<text x=\"{x}\" y=\"{y}\" {style}>{}</text>", escaped(text)));
    }

    fn area(&mut self, (x, y, width, height): (u32, u32, u32, u32), actor: Actor) {
        let (area, line) = actor.colours();
        self.line(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{area}\" stroke=\"{line}\"/>"
        ));
    }

    /// A coloured square with a word: a column, or an entry of the legend.
    pub(super) fn heading(&mut self, x: u32, y: u32, actor: Actor, title: &str) {
        self.area((x, y - 12, 14, 14), actor);
        self.text((x + 22, y), &format!("fill=\"{}\" font-weight=\"600\"", actor.colours().1), title);
    }

    pub(super) fn title(&mut self, x: u32, y: u32, title: &str) {
        self.text((x, y), &format!("fill=\"{TEXT}\" font-size=\"17\" font-weight=\"700\""), title);
    }

    pub(super) fn note(&mut self, x: u32, y: u32, text: &str) {
        self.text((x, y), "fill=\"#52606d\"", text);
    }

    /// An object: a box with a title and lines, as high as these.
    pub(super) fn card(&mut self, (x, y, width): (u32, u32, u32), actor: Actor, title: &str, lines: &[&str]) {
        let height = 30 + 18 * u32::try_from(lines.len()).unwrap();
        self.step((x, y, width, height), actor, title, lines);
    }

    /// A box of this height with a title and lines.
    pub(super) fn step(&mut self, area: (u32, u32, u32, u32), actor: Actor, title: &str, lines: &[&str]) {
        let (x, y, ..) = area;
        self.area(area, actor);
        self.text((x + 12, y + 20), &format!("fill=\"{TEXT}\" font-weight=\"600\""), title);
        for (number, text) in (0..).zip(lines) {
            self.text((x + 12, y + 40 + 18 * number), &format!("fill=\"{TEXT}\" font-size=\"13\""), text);
        }
    }

    /// A condition with its reason, in the colour of its status.
    pub(super) fn condition(&mut self, x: u32, y: u32, text: &str, status: ConditionStatus) {
        let colour = match status {
            ConditionStatus::True => "#2f855a",
            ConditionStatus::Unknown => "#975a16",
            ConditionStatus::False => "#c53030",
        };
        self.text((x, y), &format!("fill=\"{colour}\" font-family=\"monospace\" font-size=\"13\""), text);
    }

    pub(super) fn arrow(&mut self, from: (u32, u32), to: (u32, u32)) {
        self.line(&format!(
            "<path d=\"M{} {}L{} {}\" fill=\"none\" stroke=\"#52606d\" stroke-width=\"1.5\" marker-end=\"url(#tip)\"/>",
            from.0, from.1, to.0, to.1
        ));
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
