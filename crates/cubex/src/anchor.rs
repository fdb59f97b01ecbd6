//! `anchor.xml`: everything about a report but its values.
//!
//! cubelib reads it with a grammar of its own that is much narrower than XML, so what is written
//! here keeps to that grammar; what is read may be any well-formed document with the elements below.
//!
//! ```text
//! <cube version="4.4">
//!  <attr key="" value=""/>*
//!  <doc><mirrors><murl>URL</murl>*</mirrors></doc>
//!  <metrics [title=""]>
//!   <metric id="" type="" [viztype=""] [convertible=""] [cacheable=""]>
//!    <disp_name> <uniq_name> <dtype> <uom> <val> <url> <descr>
//!    <cubepl>* <cubeplinit>* <cubeplaggr cubeplaggrtype=plus|minus|aggr>*  <attr/>*  metric*
//!  <program [title=""]>
//!   <region id="" mod="" begin="" end=""> <name> <mangled_name> <paradigm> <role> <url> <descr> <attr/>*
//!   <cnode id="" [line=""] [mod=""] calleeId=""> <parameter partype="" parkey="" parvalue=""/>* <attr/>* cnode*
//!  <system [title=""]>
//!   <systemtreenode Id=""> <name> <class> [<descr>] <attr/>* locationgroup* systemtreenode*
//!    <locationgroup Id=""> <name> <rank> <type> <attr/>*
//!     <location Id=""> <name> <rank> <type> <attr/>*
//!   <topologies> <cart [name=""] ndims=""> <dim [name=""] size="" periodic=""/>* <coord locId|lgId|stnId="">0 0</coord>*
//! ```

mod element;
mod fields;
mod metered;
mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
