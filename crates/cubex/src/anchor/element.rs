//! The elements of `anchor.xml`, and where each may occur.

/// An element of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// The document outside its root element.
    Document,
    Cube,
    Attr,
    Doc,
    Mirrors,
    Metrics,
    Metric,
    Program,
    Region,
    Cnode,
    Parameter,
    System,
    SystemNode,
    Group,
    Location,
    Topologies,
    Cart,
    Dim,
    /// An element that holds only text.
    Text(Field),
    /// An unknown element, perhaps from a later version, which is skipped with all of its contents.
    Unknown,
}

/// Kind of an element that holds only text. It determines the field in which the text is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Mirror,
    DispName,
    UniqName,
    Dtype,
    Uom,
    Val,
    Url,
    Descr,
    Name,
    MangledName,
    Paradigm,
    Role,
    Class,
    Rank,
    Kind,
    Coord,
    Cubepl,
    CubeplInit,
    CubeplAggr,
}

impl Element {
    /// Returns the kind of a child element with this tag name.
    pub(super) fn child(self, name: &str) -> Self {
        use Element::*;
        match (self, name) {
            (Document, "cube") => Cube,
            (Cube | Metric | Region | Cnode | SystemNode | Group | Location, "attr") => Attr,
            (Cube, "doc") => Doc,
            (Doc, "mirrors") => Mirrors,
            (Mirrors, "murl") => Text(Field::Mirror),
            (Cube, "metrics") => Metrics,
            (Metrics | Metric, "metric") => Metric,
            (Metric, "disp_name") => Text(Field::DispName),
            (Metric, "uniq_name") => Text(Field::UniqName),
            (Metric, "dtype") => Text(Field::Dtype),
            (Metric, "uom") => Text(Field::Uom),
            (Metric, "val") => Text(Field::Val),
            (Metric, "cubepl") => Text(Field::Cubepl),
            (Metric, "cubeplinit") => Text(Field::CubeplInit),
            (Metric, "cubeplaggr") => Text(Field::CubeplAggr),
            (Metric | Region, "url") => Text(Field::Url),
            (Metric | Region | SystemNode, "descr") => Text(Field::Descr),
            (Cube, "program") => Program,
            (Program, "region") => Region,
            (Region, "mangled_name") => Text(Field::MangledName),
            (Region, "paradigm") => Text(Field::Paradigm),
            (Region, "role") => Text(Field::Role),
            (Program | Cnode, "cnode") => Cnode,
            (Cnode, "parameter") => Parameter,
            (Cube, "system") => System,
            (System | SystemNode, "systemtreenode") => SystemNode,
            (SystemNode, "locationgroup") => Group,
            (Group, "location") => Location,
            (Region | SystemNode | Group | Location, "name") => Text(Field::Name),
            (SystemNode, "class") => Text(Field::Class),
            (Group | Location, "rank") => Text(Field::Rank),
            (Group | Location, "type") => Text(Field::Kind),
            (System, "topologies") => Topologies,
            (Topologies, "cart") => Cart,
            (Cart, "dim") => Dim,
            (Cart, "coord") => Text(Field::Coord),
            _ => Unknown,
        }
    }
}
