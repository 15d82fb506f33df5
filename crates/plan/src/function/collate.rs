//! Which collation an operation on several strings uses, and bringing its arguments to it.
//!
//! Rules: MySQL manual, "Collation Coercibility in Expressions". The lower coercibility wins; at equal strength a
//! `_bin` collation beats others of its character set, `binary` beats characters, Unicode beats other character
//! sets, and what is pure ASCII fits everywhere. What is left over is an "illegal mix".

use super::{FunctionId, TypeContext};
use crate::error::{PlanError, PlanResult};
use crate::expr::{CallOption, Coercibility, Expr, ExprKind};
use types::charset::{Charset, convert_lossy};
use types::{CollationId, DataType, TypeKind, Value};

/// What the collation is wanted for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Purpose {
    /// To compare: an undecided mix is an error.
    Compare,
    /// To build a string: an undecided mix inside one character set gives its `_bin` collation, undecided.
    Build,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    collation: CollationId,
    coercibility: Coercibility,
    ascii: bool,
}

fn is_unicode(charset: Charset) -> bool {
    matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3)
}

/// A text value: a string, ENUM or SET.
pub(super) fn is_text(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.members.is_some()
}

fn claim(expr: &Expr, context: &TypeContext) -> Claim {
    if expr.data_type.kind == TypeKind::Null {
        return Claim { collation: CollationId::BINARY, coercibility: Coercibility::Ignorable, ascii: true };
    }
    if expr.data_type.kind == TypeKind::Json {
        return Claim {
            collation: CollationId::UTF8MB4_BIN,
            coercibility: Coercibility::Implicit,
            ascii: false,
        };
    }
    if expr.data_type.kind == TypeKind::Bit {
        return Claim { collation: CollationId::BINARY, coercibility: Coercibility::Implicit, ascii: false };
    }
    if !is_text(&expr.data_type) {
        return Claim {
            collation: context.connection_collation,
            coercibility: Coercibility::Numeric,
            ascii: true,
        };
    }
    let ascii = expr.data_type.collation.charset() == Charset::Ascii
        || matches!(&expr.kind, ExprKind::Literal(Value::Bytes { bytes, .. }) if bytes.is_ascii());
    Claim { collation: expr.data_type.collation, coercibility: expr.coercibility, ascii }
}

/// Does a text of `right` fit into the character set of `left` without loss, so that left may win?
fn is_superset(left: Claim, right: Claim) -> bool {
    let (from, to) = (right.collation.charset(), left.collation.charset());
    let stronger = left.coercibility < right.coercibility;
    let equal = left.coercibility == right.coercibility;
    if is_unicode(to)
        && (stronger
            || (equal && (!is_unicode(from) || (to == Charset::Utf8mb4 && from == Charset::Utf8mb3))))
    {
        return true;
    }
    right.ascii && (stronger || (equal && !left.ascii))
}

/// The winner of two claims, or `None` for an illegal mix.
fn merge(left: Claim, right: Claim) -> Option<Claim> {
    let ascii = left.ascii && right.ascii;
    let won = |winner: Claim| Some(Claim { ascii, ..winner });
    if left.coercibility == Coercibility::Ignorable {
        return Some(right);
    }
    if right.coercibility == Coercibility::Ignorable || left.collation == right.collation {
        let coercibility = left.coercibility.min(right.coercibility);
        return won(Claim { coercibility, ..left });
    }
    let (left_set, right_set) = (left.collation.charset(), right.collation.charset());
    if left_set != right_set {
        return if left_set == Charset::Binary {
            won(if left.coercibility <= right.coercibility { left } else { right })
        } else if right_set == Charset::Binary {
            won(if right.coercibility <= left.coercibility { right } else { left })
        } else if is_superset(left, right) {
            won(left)
        } else if is_superset(right, left) {
            won(right)
        } else if left.coercibility < right.coercibility && right.coercibility >= Coercibility::SystemConstant
        {
            won(left)
        } else if right.coercibility < left.coercibility && left.coercibility >= Coercibility::SystemConstant
        {
            won(right)
        } else {
            None
        };
    }
    if left.coercibility < right.coercibility {
        return won(left);
    }
    if right.coercibility < left.coercibility {
        return won(right);
    }
    if left.coercibility == Coercibility::Explicit {
        return None;
    }
    let bin = left_set.bin_collation();
    let is_bin = |collation: CollationId| collation.name().ends_with("_bin");
    if is_bin(left.collation) {
        won(left)
    } else if is_bin(right.collation) {
        won(right)
    } else {
        won(Claim { collation: bin, coercibility: Coercibility::NoCollation, ascii })
    }
}

fn coercibility_name(coercibility: Coercibility) -> &'static str {
    match coercibility {
        Coercibility::Explicit => "EXPLICIT",
        Coercibility::NoCollation => "NONE",
        Coercibility::Implicit => "IMPLICIT",
        Coercibility::SystemConstant => "SYSCONST",
        Coercibility::Literal => "COERCIBLE",
        Coercibility::Numeric => "NUMERIC",
        Coercibility::Ignorable => "IGNORABLE",
    }
}

#[cold]
fn illegal_mix(claims: &[Claim], operation: &str) -> Box<PlanError> {
    let show =
        |claim: &Claim| format!("({},{})", claim.collation.name(), coercibility_name(claim.coercibility));
    match claims {
        [a, b] => PlanError::new(
            1267,
            format!("Illegal mix of collations {} and {} for operation '{operation}'", show(a), show(b)),
        ),
        [a, b, c] => PlanError::new(
            1270,
            format!(
                "Illegal mix of collations {}, {}, {} for operation '{operation}'",
                show(a),
                show(b),
                show(c)
            ),
        ),
        _ => PlanError::new(1271, format!("Illegal mix of collations for operation '{operation}'")),
    }
}

/// Finds the common collation of `args` and brings every text argument to it: a literal is rewritten, another
/// character set is converted, another collation is overruled by a `Collate` node.
pub(super) fn aggregate(
    args: &mut [Expr],
    operation: &str,
    context: &TypeContext,
    purpose: Purpose,
) -> PlanResult<(CollationId, Coercibility)> {
    let claims: Vec<Claim> = args.iter().map(|arg| claim(arg, context)).collect();
    let mut winner =
        Claim { collation: context.connection_collation, coercibility: Coercibility::Ignorable, ascii: true };
    for (i, &next) in claims.iter().enumerate() {
        winner = merge(winner, next).ok_or_else(|| {
            illegal_mix(&claims[..if claims.len() <= 3 { claims.len() } else { i.max(3) + 1 }], operation)
        })?;
    }
    if purpose == Purpose::Compare && winner.coercibility == Coercibility::NoCollation && args.len() > 1 {
        // Of a list the numbers are told too.
        let is_told = |claim: &Claim| claims.len() > 2 || claim.coercibility < Coercibility::Numeric;
        let texts: Vec<Claim> = claims.iter().copied().filter(is_told).collect();
        return Err(illegal_mix(&texts, operation));
    }
    let collation =
        if winner.coercibility == Coercibility::Ignorable { CollationId::BINARY } else { winner.collation };
    for arg in args.iter_mut() {
        bring_to(arg, collation);
    }
    Ok((collation, winner.coercibility))
}

/// Makes a text argument one of `collation`.
pub(super) fn bring_to(arg: &mut Expr, collation: CollationId) {
    if !is_text(&arg.data_type) || arg.data_type.collation == collation {
        return;
    }
    let from = arg.data_type.collation.charset();
    let to = collation.charset();
    if let ExprKind::Literal(Value::Bytes { bytes, collation: tag }) = &mut arg.kind {
        if from != to && from != Charset::Binary && to != Charset::Binary {
            let mut converted = Vec::with_capacity(bytes.len());
            convert_lossy(from, bytes, to, &mut converted);
            *bytes = converted;
        }
        *tag = collation;
        arg.data_type.collation = collation;
        return;
    }
    // Bytes are taken as they are where `binary` meets characters.
    let function = if from == to || from == Charset::Binary || to == Charset::Binary {
        FunctionId::Collate
    } else {
        FunctionId::ConvertUsing
    };
    let data_type = if arg.data_type.is_string() {
        DataType { collation, ..arg.data_type.clone() }
    } else {
        super::shape::string_type(arg.data_type.length, collation)
    };
    let inner = std::mem::replace(arg, Expr::null());
    *arg = Expr {
        nullable: inner.nullable,
        coercibility: inner.coercibility,
        kind: ExprKind::Call { function, args: vec![inner], option: CallOption::None },
        data_type,
    };
}

pub(super) fn explicit(expr: Expr, collation: CollationId, context: &TypeContext) -> PlanResult<Expr> {
    let charset = if is_text(&expr.data_type) {
        expr.data_type.collation.charset()
    } else if expr.data_type.kind == TypeKind::Json {
        Charset::Utf8mb4
    } else if expr.data_type.kind == TypeKind::Null {
        collation.charset()
    } else {
        context.connection_collation.charset()
    };
    if charset != collation.charset() {
        return Err(PlanError::new(
            1253,
            format!("COLLATION '{}' is not valid for CHARACTER SET '{}'", collation.name(), charset.name()),
        ));
    }
    let length = super::shape::text_chars(&expr.data_type);
    Ok(Expr {
        nullable: expr.nullable,
        coercibility: Coercibility::Explicit,
        data_type: super::shape::string_type(length, collation),
        kind: ExprKind::Call { function: FunctionId::Collate, args: vec![expr], option: CallOption::None },
    })
}
