//! Which collation an operation on several strings uses, and bringing its arguments to it.
//!
//! Rules: MySQL manual, "Collation Coercibility in Expressions". Only the arguments of the strongest coercibility decide. Among
//! those a `_bin` collation beats others of its character set, `binary` beats characters, Unicode beats other character
//! sets, and any set beats `ascii`. What is left over is an "illegal mix". Two collations of one character set of which none is
//! `_bin` leave it open which one holds ([`Coercibility::NoCollation`], the weakest of all).

use super::{FunctionId, TypeContext};
use crate::error::{PlanError, PlanResult};
use crate::expr::{CallOption, Coercibility, Expr, ExprKind};
use types::charset::{Charset, convert_strict};
use types::{CollationId, DataType, TypeKind, Value};

/// What the collation is wanted for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Purpose {
    /// To compare: an undecided mix is an error.
    Compare,
    /// To compare one operand with each of the others (IN, BETWEEN, CASE): what two of them leave undecided no third one decides.
    CompareEach,
    /// To build a string: an undecided mix inside one character set gives its `_bin` collation, undecided.
    Build,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    collation: CollationId,
    coercibility: Coercibility,
}

fn is_unicode(charset: Charset) -> bool {
    matches!(
        charset,
        Charset::Utf8mb4
            | Charset::Utf8mb3
            | Charset::Ucs2
            | Charset::Utf16
            | Charset::Utf16le
            | Charset::Utf32
    )
}

/// A text value: a string, ENUM or SET.
pub(super) fn is_text(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.members.is_some()
}

/// A value that MySQL compares as a string with others of these: texts, temporals, documents, NULL.
fn is_string_result(data_type: &DataType) -> bool {
    is_text(data_type)
        || data_type.is_temporal() && data_type.kind != TypeKind::Year
        || matches!(data_type.kind, TypeKind::Json | TypeKind::Null)
}

/// What CASE and IF give of bits is a number.
fn chooses(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Case { .. } | ExprKind::Call { function: FunctionId::If, .. })
}

fn claim(expr: &Expr) -> Claim {
    let (collation, coercibility) = match expr.data_type.kind {
        TypeKind::Null => (CollationId::BINARY, Coercibility::Ignorable),
        TypeKind::Json => (CollationId::UTF8MB4_BIN, Coercibility::Implicit),
        TypeKind::Bit if !chooses(expr) => (CollationId::BINARY, Coercibility::Implicit),
        _ if is_text(&expr.data_type) => (expr.data_type.collation, expr.coercibility),
        // What messages show of a number.
        _ => (CollationId::LATIN1_SWEDISH_CI, Coercibility::Numeric),
    };
    Claim { collation, coercibility }
}

/// The collation of a text.
pub(super) fn claimed(expr: &Expr) -> Option<CollationId> {
    is_text(&expr.data_type).then_some(expr.data_type.collation)
}

/// Does every text of `right` fit into the character set of `left`?
fn is_superset(left: Charset, right: Charset) -> bool {
    match right {
        Charset::Ascii => left != Charset::Ascii,
        // Of the sets of all Unicode these two count as such, and the left one of them.
        _ if matches!(left, Charset::Utf8mb4 | Charset::Utf32) => true,
        _ => is_unicode(left) && !is_unicode(right),
    }
}

/// The winner of two claims of the same strength, or `None` for an illegal mix.
fn merge(left: Claim, right: Claim) -> Option<Claim> {
    if left.collation == right.collation {
        return Some(left);
    }
    match left.coercibility {
        Coercibility::Explicit => return None,
        // Nothing has been decided so far.
        Coercibility::NoCollation => return Some(right),
        _ => {}
    }
    let (left_set, right_set) = (left.collation.charset(), right.collation.charset());
    if left_set != right_set {
        return if left_set == Charset::Binary {
            Some(left)
        } else if right_set == Charset::Binary {
            Some(right)
        } else if is_superset(left_set, right_set) {
            Some(left)
        } else if is_superset(right_set, left_set) {
            Some(right)
        } else {
            None
        };
    }
    let is_bin = |collation: CollationId| collation.name().ends_with("_bin");
    match (is_bin(left.collation), is_bin(right.collation)) {
        // utf8mb4_bin pads, utf8mb4_0900_bin does not.
        (true, true) => None,
        (true, false) => Some(left),
        (false, true) => Some(right),
        (false, false) => {
            Some(Claim { collation: left_set.bin_collation(), coercibility: Coercibility::NoCollation })
        }
    }
}

fn coercibility_name(coercibility: Coercibility) -> &'static str {
    match coercibility {
        Coercibility::Explicit => "EXPLICIT",
        Coercibility::Implicit => "IMPLICIT",
        Coercibility::SystemConstant => "SYSCONST",
        Coercibility::Literal => "COERCIBLE",
        Coercibility::Numeric => "NUMERIC",
        Coercibility::Ignorable => "NULL",
        Coercibility::NoCollation => "NONE",
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

/// The collation that `args` agree on, and how strongly.
fn agree(args: &[Expr], operation: &str, purpose: Purpose) -> PlanResult<Claim> {
    let claims: Vec<Claim> = args.iter().map(claim).collect();
    let strongest = claims.iter().map(|claim| claim.coercibility).min();
    let mut strong = claims.iter().copied().filter(|claim| Some(claim.coercibility) == strongest);
    let first = strong
        .next()
        .unwrap_or(Claim { collation: CollationId::BINARY, coercibility: Coercibility::Ignorable });
    let is_undecided = |claim: &Claim| claim.coercibility == Coercibility::NoCollation;
    let joined = strong.try_fold(first, |left, right| {
        if purpose == Purpose::CompareEach && is_undecided(&left) && !is_undecided(&right) {
            return None;
        }
        merge(left, right)
    });
    match joined {
        Some(winner) if purpose == Purpose::Build || winner.coercibility != Coercibility::NoCollation => {
            Ok(winner)
        }
        _ => Err(illegal_mix(&claims, operation)),
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
    aggregate_by(args, operation, context, purpose, convert_to_collation)
}

/// As [`aggregate`], but bytes among the arguments are taken for characters without a check.
pub(super) fn aggregate_unchecked(
    args: &mut [Expr],
    operation: &str,
    context: &TypeContext,
    purpose: Purpose,
) -> PlanResult<(CollationId, Coercibility)> {
    aggregate_by(args, operation, context, purpose, convert_unchecked)
}

fn aggregate_by(
    args: &mut [Expr],
    operation: &str,
    context: &TypeContext,
    purpose: Purpose,
    bring: fn(&mut Expr, CollationId) -> PlanResult<()>,
) -> PlanResult<(CollationId, Coercibility)> {
    let mut winner = agree(args, operation, purpose)?;
    if winner.coercibility == Coercibility::Numeric {
        // Numbers become text of the connection.
        winner = Claim { collation: context.connection_collation, coercibility: Coercibility::Literal };
    }
    for arg in args.iter_mut() {
        bring(arg, winner.collation)?;
    }
    Ok((winner.collation, winner.coercibility))
}

/// As [`convert_to_collation`], but bytes are taken for characters without a check.
pub(super) fn convert_unchecked(arg: &mut Expr, collation: CollationId) -> PlanResult<()> {
    if is_text(&arg.data_type) && arg.data_type.collation.charset() == Charset::Binary {
        *arg = through(std::mem::replace(arg, Expr::null()), FunctionId::Collate, collation);
        return Ok(());
    }
    convert_to_collation(arg, collation)
}

/// Brings the texts among `args` to the collation of the argument `leader`, which alone decides. Bytes have to be characters of
/// it.
pub(super) fn follow(
    args: &mut [&mut Expr],
    leader: usize,
    context: &TypeContext,
) -> PlanResult<(CollationId, Coercibility)> {
    let claim = claim(args[leader]);
    let (collation, coercibility) = match claim.coercibility {
        Coercibility::Numeric => (context.connection_collation, Coercibility::Literal),
        coercibility => (claim.collation, coercibility),
    };
    for arg in args.iter_mut() {
        let is_bytes = is_text(&arg.data_type) && arg.data_type.collation == CollationId::BINARY;
        if is_bytes && collation != CollationId::BINARY {
            **arg = through(std::mem::replace(*arg, Expr::null()), FunctionId::ConvertUsing, collation);
        } else {
            convert_to_collation(arg, collation)?;
        }
    }
    Ok((collation, coercibility))
}

/// Of two operands of one collation the left one has to have decided for it.
///
/// # Errors
/// 1267: it has not.
pub(super) fn check_left(args: &[Expr], operation: &str) -> PlanResult<()> {
    if let [left, right] = args {
        let claims = [claim(left), claim(right)];
        if claims[0].collation == claims[1].collation && claims[0].coercibility == Coercibility::NoCollation {
            return Err(illegal_mix(&claims, operation));
        }
    }
    Ok(())
}

/// Brings the arguments of a comparison to a common collation, if they compare as strings.
pub(super) fn compare(args: &mut [Expr], operation: &str, context: &TypeContext) -> PlanResult<()> {
    if !args.iter().all(|arg| is_string_result(&arg.data_type)) {
        return Ok(());
    }
    check_left(args, operation)?;
    let is_other = |arg: &Expr| !is_text(&arg.data_type) && arg.data_type.kind != TypeKind::Null;
    if args.iter().any(is_other) {
        // Temporals and documents are compared as such.
        agree(args, operation, Purpose::CompareEach)?;
    } else if args.iter().filter(|arg| is_text(&arg.data_type)).count() >= 2 {
        aggregate(args, operation, context, Purpose::CompareEach)?;
    }
    Ok(())
}

/// Bytes beside documents and texts in BETWEEN, which compares texts then, have to be characters.
///
/// # Errors
/// 1267, 1270, 1271: they have no common collation.
pub(super) fn between_documents(args: &mut [Expr]) -> PlanResult<()> {
    let is_document = |arg: &Expr| arg.data_type.kind == TypeKind::Json;
    let is_compared_as_text =
        |arg: &Expr| is_text(&arg.data_type) || is_document(arg) || arg.data_type.kind == TypeKind::Null;
    if !args.iter().any(is_document) || !args.iter().all(is_compared_as_text) {
        return Ok(());
    }
    let collation = agree(args, "between", Purpose::CompareEach)?.collation;
    if collation.charset() == Charset::Binary {
        return Ok(());
    }
    let is_bytes =
        |arg: &&mut Expr| is_text(&arg.data_type) && arg.data_type.collation == CollationId::BINARY;
    args.iter_mut().filter(is_bytes).try_for_each(|arg| convert_to_collation(arg, collation))
}

/// The collation in which the first of `args` is compared with each of the others, if with any of them as a string. The texts
/// among all are brought to it.
pub(super) fn compare_first(
    args: &mut [Expr],
    operation: &str,
    context: &TypeContext,
) -> PlanResult<Option<CollationId>> {
    let mut kinds = args.iter().map(|arg| is_string_result(&arg.data_type));
    if kinds.next() != Some(true) || !kinds.any(|is_string| is_string) {
        return Ok(None);
    }
    // Bits make it a comparison of bytes, but members of ENUM and SET stay what they are beside them.
    let has_members = args.iter().any(|arg| arg.data_type.members.is_some());
    let mut bits = Vec::new();
    for (at, arg) in args.iter_mut().enumerate() {
        if has_members && arg.data_type.kind == TypeKind::Bit {
            bits.push((at, std::mem::replace(arg, Expr::int(0))));
        }
    }
    let (has_bits, aggregated) =
        (!bits.is_empty(), aggregate(args, operation, context, Purpose::CompareEach));
    for (at, arg) in bits {
        args[at] = arg;
    }
    match aggregated {
        // Texts that only the bits among them bring together.
        Err(error) if has_bits && matches!(error.number, 1267 | 1270 | 1271) => {
            Ok(Some(agree(args, operation, Purpose::CompareEach)?.collation))
        }
        aggregated => Ok(Some(aggregated?.0)),
    }
}

/// Whether `args`, some of which are documents, have a common collation: if the first is compared as a string with one before the
/// documents that is no constant.
///
/// # Errors
/// 1267, 1270, 1271: they have none.
pub(super) fn check_first(args: &[Expr], operation: &str) -> PlanResult<()> {
    let is_document = |arg: &Expr| arg.data_type.kind == TypeKind::Json;
    let is_compared = |arg: &Expr| is_string_result(&arg.data_type) && !is_document(arg);
    if let [first, others @ ..] = args
        && is_compared(first)
        && others.iter().take_while(|arg| !is_document(arg)).any(|arg| is_compared(arg) && !arg.is_constant())
    {
        agree(args, operation, Purpose::CompareEach)?;
    }
    Ok(())
}

/// Makes a text argument one of `collation`.
///
/// # Errors
/// 3854: a literal that its character set does not hold.
pub(super) fn convert_to_collation(arg: &mut Expr, collation: CollationId) -> PlanResult<()> {
    if !is_text(&arg.data_type) || arg.data_type.collation == collation {
        return Ok(());
    }
    let from = arg.data_type.collation.charset();
    let to = collation.charset();
    let is_conversion = from != to && to != Charset::Binary;
    if let ExprKind::Literal(Value::Bytes { bytes, collation: tag }) = &mut arg.kind {
        let mut converted = Vec::with_capacity(bytes.len());
        let is_kept = !is_conversion || convert_strict(from, bytes, to, &mut converted).is_ok();
        if !is_kept && from != Charset::Binary {
            return Err(not_convertible(bytes, from, to));
        }
        // Bytes that are no characters are an error of the rows for which they are asked for.
        if is_kept {
            if is_conversion {
                *bytes = converted;
            }
            *tag = collation;
            arg.data_type.collation = collation;
            return Ok(());
        }
    }
    // Bytes of a parameter are taken as they are.
    let is_conversion = is_conversion && !(from == Charset::Binary && matches!(arg.kind, ExprKind::Param(_)));
    let function = if is_conversion { FunctionId::ConvertUsing } else { FunctionId::Collate };
    *arg = through(std::mem::replace(arg, Expr::null()), function, collation);
    Ok(())
}

/// A text given another collation by this function.
fn through(inner: Expr, function: FunctionId, collation: CollationId) -> Expr {
    let data_type = if inner.data_type.is_string() {
        DataType { collation, ..inner.data_type.clone() }
    } else {
        super::shape::string_type(inner.data_type.length, collation)
    };
    let option = if function == FunctionId::ConvertUsing { CallOption::Lossless } else { CallOption::Common };
    Expr {
        nullable: inner.nullable,
        coercibility: inner.coercibility,
        kind: ExprKind::Call { function, args: vec![inner], option },
        data_type,
    }
}

#[cold]
fn not_convertible(bytes: &[u8], from: Charset, to: Charset) -> Box<PlanError> {
    let shown = types::convert::escaped(bytes);
    PlanError::new(
        3854,
        format!(
            "Cannot convert string '{}' from {} to {}",
            String::from_utf8_lossy(&shown),
            from.name(),
            to.name()
        ),
    )
}

/// A column that is a BIT has bytes; what is computed of one is a number, and has the connection's character set.
pub(crate) fn is_column_of_bits(expr: &Expr) -> bool {
    expr.data_type.kind == TypeKind::Bit && matches!(expr.kind, ExprKind::Column(_))
}

pub(super) fn explicit(expr: Expr, collation: CollationId, context: &TypeContext) -> PlanResult<Expr> {
    let charset = if is_text(&expr.data_type) {
        expr.data_type.collation.charset()
    } else if is_column_of_bits(&expr) {
        Charset::Binary
    } else if expr.data_type.kind == TypeKind::Json {
        Charset::Utf8mb4
    } else if expr.data_type.kind == TypeKind::Null {
        // A parameter is a text until it has a value.
        if matches!(expr.kind, ExprKind::Param(_)) { collation.charset() } else { Charset::Binary }
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
        nullable: expr.nullable || context.is_strict,
        coercibility: Coercibility::Explicit,
        data_type: super::shape::string_type(length, collation),
        kind: ExprKind::Call { function: FunctionId::Collate, args: vec![expr], option: CallOption::None },
    })
}
