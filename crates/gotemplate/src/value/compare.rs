//! Compares two values as Go's `reflect.DeepEqual` does.

use super::{Heap, Value, deeper};
use crate::fault::Fault;

/// Whether two values have the same type and the same content. An `int` and an `int64` never do.
pub(crate) fn deep_equal<'a>(
    heap: &mut Heap<'a>,
    left: &Value<'a>,
    right: &Value<'a>,
    depth: usize,
) -> Result<bool, Fault<'a>> {
    let depth = deeper(depth)?;
    Ok(match (left, right) {
        (Value::Nil(_), Value::Nil(_)) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(left), Value::Int(right)) | (Value::Int64(left), Value::Int64(right)) => left == right,
        (Value::Byte(left), Value::Byte(right)) => left == right,
        #[expect(clippy::float_cmp, reason = "Go compares floats exactly")]
        (Value::Float(left), Value::Float(right)) => left == right,
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::List(left), Value::List(right)) => {
            if heap.list_type(*left) != heap.list_type(*right)
                || heap.list_is_nil(*left) != heap.list_is_nil(*right)
                || heap.list_length(*left) != heap.list_length(*right)
            {
                return Ok(false);
            }
            if left == right {
                return Ok(true);
            }
            let (left, right) = (heap.items(*left), heap.items(*right));
            for (left, right) in left.iter().zip(right.iter()) {
                heap.step(1)?;
                if !deep_equal(heap, left, right, depth)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(left), Value::Map(right)) => {
            if heap.map_type(*left) != heap.map_type(*right)
                || heap.map_is_nil(*left) != heap.map_is_nil(*right)
                || heap.map_length(*left) != heap.map_length(*right)
            {
                return Ok(false);
            }
            if left == right {
                return Ok(true);
            }
            let (left, right) = (heap.entries(*left), heap.entries(*right));
            for (key, left) in left.iter() {
                heap.step(1)?;
                let Some(right) = right.get(key) else {
                    return Ok(false);
                };
                if !deep_equal(heap, left, right, depth)? {
                    return Ok(false);
                }
            }
            true
        }
        _ => false,
    })
}
