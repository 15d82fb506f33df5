//! DECIMAL: exact numbers of up to 65 digits, 30 of them after the point.
//!
//! A value is a sign, a 256-bit coefficient and a scale: `coefficient / 10^scale`. Coefficients below 2^128
//! (38 digits) take a fast path. Results that are shown are rounded half away from zero, as the MySQL manual,
//! "Precision Math", says; a quotient keeps more digits inside than its type shows, because MySQL computes in
//! groups of nine digits and later steps of an expression see them.
//!
//! Invariants:
//! 1. The coefficient is below 10^76, the scale at most `SCALE_MAX`.
//! 2. Zero is not negative.

mod text;
mod wide;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use wide::{POW10, U256};

pub use text::Parsed;

/// Largest scale a value can have inside an expression. Columns hold at most 30.
pub(crate) const SCALE_MAX: u8 = 72;
/// Most digits of a coefficient inside an expression. Columns hold at most 65.
const DIGITS_MAX: usize = 76;
/// Most bytes a value takes as text: sign, point, a leading zero and the digits.
pub(crate) const TEXT_BYTES_MAX: usize = DIGITS_MAX + 4;

/// An exact decimal number. Equality, order and hash are by value: 1.0 equals 1.00.
#[derive(Clone, Copy)]
pub struct Decimal {
    coefficient: U256,
    scale: u8,
    negative: bool,
}

/// A value that does not fit its type, and what to use when the SQL mode says to clip.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clipped<T>(
    /// The nearest value of the type.
    pub T,
);

impl Decimal {
    /// Bytes of [`Decimal::to_exact`].
    pub(crate) const EXACT_BYTES: usize = 34;
    /// 0.
    pub const ZERO: Decimal = Decimal { coefficient: wide::ZERO, scale: 0, negative: false };
    /// 1.
    pub const ONE: Decimal = Decimal { coefficient: [1, 0, 0, 0], scale: 0, negative: false };

    fn checked(coefficient: U256, scale: u8, negative: bool) -> Option<Decimal> {
        if scale > SCALE_MAX || wide::cmp(&coefficient, &POW10[DIGITS_MAX]).is_ge() {
            return None;
        }
        Some(Decimal { coefficient, scale, negative: negative && !wide::is_zero(&coefficient) })
    }

    /// An integer.
    #[inline]
    #[must_use]
    pub const fn from_i64(value: i64) -> Decimal {
        Decimal { coefficient: [value.unsigned_abs(), 0, 0, 0], scale: 0, negative: value < 0 }
    }

    /// An integer.
    #[inline]
    #[must_use]
    pub const fn from_u64(value: u64) -> Decimal {
        Decimal { coefficient: [value, 0, 0, 0], scale: 0, negative: false }
    }

    /// An integer of up to 38 digits.
    #[must_use]
    pub const fn from_i128(value: i128) -> Decimal {
        let magnitude = value.unsigned_abs();
        Decimal {
            coefficient: [magnitude as u64, (magnitude >> 64) as u64, 0, 0],
            scale: 0,
            negative: value < 0,
        }
    }

    /// `units / 10^scale`, for example microseconds with scale 6. `scale` is at most 30.
    #[must_use]
    pub fn from_units(units: i128, scale: u8) -> Decimal {
        assert!(scale <= 30);
        Decimal { scale, ..Decimal::from_i128(units) }
    }

    /// The decimal that prints as the double's shortest text. `Err` holds the clipped value if that has more
    /// than 65 digits before the point; NaN becomes 0.
    pub fn from_f64(value: f64) -> Result<Decimal, Clipped<Decimal>> {
        let mut buffer = zmij::Buffer::new();
        if !value.is_finite() {
            return Err(Clipped(if value.is_nan() {
                Decimal::ZERO
            } else {
                Decimal::limit(65, 0, value < 0.0)
            }));
        }
        let parsed = Decimal::parse(buffer.format_finite(value).as_bytes());
        if parsed.overflow { Err(Clipped(parsed.value)) } else { Ok(parsed.value) }
    }

    /// The largest value of DECIMAL(precision, scale), or the smallest.
    #[must_use]
    pub fn limit(precision: u32, scale: u8, negative: bool) -> Decimal {
        let nines = wide::sub(&POW10[precision.min(65) as usize], &[1, 0, 0, 0]);
        Decimal { coefficient: nines, scale, negative: negative && precision > 0 }
    }

    /// Digits after the point.
    #[inline]
    #[must_use]
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Below zero.
    #[inline]
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Zero.
    #[inline]
    #[must_use]
    pub fn is_zero(&self) -> bool {
        wide::is_zero(&self.coefficient)
    }

    /// Digits before the point; 0 for a number below 1.
    #[inline]
    #[must_use]
    pub fn integer_digits(&self) -> u32 {
        wide::digit_count(&self.coefficient).saturating_sub(self.scale as usize) as u32
    }

    /// The same number with the other sign.
    #[must_use]
    #[allow(
        clippy::should_implement_trait,
        reason = "the operators on decimals are checked methods; so is this one"
    )]
    pub fn neg(self) -> Decimal {
        Decimal { negative: !self.negative && !self.is_zero(), ..self }
    }

    /// Without sign.
    #[must_use]
    pub fn abs(self) -> Decimal {
        Decimal { negative: false, ..self }
    }

    /// Coefficients of both at the larger scale of the two; `None` if one does not fit 256 bits.
    fn aligned(&self, other: &Decimal) -> Option<(U256, U256, u8)> {
        let scale = self.scale.max(other.scale);
        let a = wide::mul_pow10(&self.coefficient, (scale - self.scale) as usize)?;
        let b = wide::mul_pow10(&other.coefficient, (scale - other.scale) as usize)?;
        Some((a, b, scale))
    }

    /// Whether the coefficient has at most 64 bits: 19 digits, as most numbers of tables have.
    #[inline]
    fn is_short(&self) -> bool {
        self.coefficient[1] | self.coefficient[2] | self.coefficient[3] == 0
    }

    /// Coefficient of a short number with its sign at a scale that is not smaller; it has fewer than 124 bits.
    #[inline]
    fn short_at(&self, scale: u8) -> Option<i128> {
        let power = SHORT_POWERS.get(usize::from(scale - self.scale))?;
        let magnitude = (u128::from(self.coefficient[0]) * u128::from(*power)) as i128;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// Coefficients of two short numbers at the larger scale of the two.
    #[inline]
    fn short_aligned(&self, other: &Decimal) -> Option<(i128, i128, u8)> {
        if !self.is_short() || !other.is_short() {
            return None;
        }
        let scale = self.scale.max(other.scale);
        Some((self.short_at(scale)?, other.short_at(scale)?, scale))
    }

    /// Adds a number in place; `None` if the sum has too many digits. The sums of a table's numbers seldom go beyond the first
    /// branch: the same sign and scale, a short number to one of up to 38 digits.
    #[inline]
    pub fn accumulate(&mut self, other: &Decimal) -> Option<()> {
        if self.scale == other.scale
            && self.negative == other.negative
            && other.is_short()
            && self.coefficient[2] | self.coefficient[3] == 0
        {
            let (low, carry) = self.coefficient[0].overflowing_add(other.coefficient[0]);
            if let Some(high) = self.coefficient[1].checked_add(u64::from(carry)) {
                (self.coefficient[0], self.coefficient[1]) = (low, high);
                return Some(());
            }
        }
        *self = self.add(other)?;
        Some(())
    }

    /// Coefficient with its sign, if it fits.
    #[inline]
    fn small(&self) -> Option<i128> {
        let magnitude = wide::to_u128(&self.coefficient)?;
        let magnitude = i128::try_from(magnitude).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    #[inline]
    fn from_small(value: i128, scale: u8) -> Decimal {
        Decimal { scale, ..Decimal::from_i128(value) }
    }

    /// The sum, scale the larger of both. `None` if it has too many digits.
    #[must_use]
    pub fn add(&self, other: &Decimal) -> Option<Decimal> {
        if self.scale == other.scale && self.is_short() && other.is_short() {
            return Some(self.add_short(other));
        }
        if let Some((a, b, scale)) = self.short_aligned(other) {
            return Some(Decimal::from_small(a + b, scale));
        }
        if self.scale == other.scale
            && let (Some(a), Some(b)) = (self.small(), other.small())
            && let Some(sum) = a.checked_add(b)
        {
            return Some(Decimal::from_small(sum, self.scale));
        }
        let Some((a, b, scale)) = self.aligned(other) else {
            return self.add_rounded(other);
        };
        if self.negative == other.negative {
            Decimal::checked(wide::add(&a, &b)?, scale, self.negative)
        } else if wide::cmp(&a, &b).is_ge() {
            Decimal::checked(wide::sub(&a, &b), scale, self.negative)
        } else {
            Decimal::checked(wide::sub(&b, &a), scale, other.negative)
        }
    }

    /// The sum of two short numbers of the same scale.
    #[inline]
    fn add_short(&self, other: &Decimal) -> Decimal {
        let (a, b) = (self.coefficient[0], other.coefficient[0]);
        let (coefficient, negative) = if self.negative == other.negative {
            let (low, carry) = a.overflowing_add(b);
            ([low, u64::from(carry), 0, 0], self.negative)
        } else if a >= b {
            ([a - b, 0, 0, 0], self.negative && a != b)
        } else {
            ([b - a, 0, 0, 0], other.negative)
        };
        Decimal { coefficient, scale: self.scale, negative }
    }

    /// A sum whose exact form has too many digits: gives up digits after the 30th.
    #[cold]
    fn add_rounded(&self, other: &Decimal) -> Option<Decimal> {
        if self.scale <= 30 && other.scale <= 30 {
            return None;
        }
        self.round(self.scale.min(30)).add(&other.round(other.scale.min(30)))
    }

    /// The difference, scale the larger of both. `None` if it has too many digits.
    #[must_use]
    pub fn sub(&self, other: &Decimal) -> Option<Decimal> {
        self.add(&other.neg())
    }

    /// The product, its scale the sum of both but at most 30 (rounded). `None` if it has too many digits.
    #[must_use]
    pub fn mul(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale as usize + other.scale as usize;
        if scale <= 30 && self.is_short() && other.is_short() {
            let product = u128::from(self.coefficient[0]) * u128::from(other.coefficient[0]);
            let negative = self.negative != other.negative && product != 0;
            return Some(Decimal { coefficient: wide::from_u128(product), scale: scale as u8, negative });
        }
        if scale <= 30
            && let (Some(a), Some(b)) = (self.small(), other.small())
            && let Some(product) = a.checked_mul(b)
        {
            return Decimal::checked(wide::from_u128(product.unsigned_abs()), scale as u8, product < 0);
        }
        let negative = self.negative != other.negative;
        let product = wide::mul(&self.coefficient, &other.coefficient);
        let surplus = scale.saturating_sub(30);
        if surplus == 0 {
            return Decimal::checked(wide::narrow(&product)?, scale as u8, negative);
        }
        // More fraction digits than MySQL keeps: round at the 30th.
        let mut product = product;
        let mut left = surplus;
        let mut half_up = false;
        while left > 0 {
            let step = left.min(70);
            let (quotient, rest) = wide::div_rem(&product, &POW10[step]);
            if left == step {
                let (half, _) = wide::div_rem(&wide::widen(&POW10[step]), &[2, 0, 0, 0]);
                half_up = wide::cmp(&rest, &[half[0], half[1], half[2], half[3]]).is_ge();
            }
            product = quotient;
            left -= step;
        }
        let mut coefficient = wide::narrow(&product)?;
        if half_up {
            coefficient = wide::add(&coefficient, &[1, 0, 0, 0])?;
        }
        Decimal::checked(coefficient, 30, negative)
    }

    /// The quotient as MySQL computes it, digits cut off beyond a scale that is a multiple of nine and at least
    /// `self.scale() + increment`; round it to the type's scale to show it. `None` if `other` is zero.
    #[must_use]
    pub fn div(&self, other: &Decimal, increment: u8) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let up9 = |digits: u32| digits.div_ceil(9) * 9;
        let (s1, s2) = (u32::from(self.scale), u32::from(other.scale));
        let spare = up9(s1) - s1 + up9(s2) - s2;
        let mut scale = up9(up9(s1) + up9(s2) + u32::from(increment).saturating_sub(spare)).min(54);
        loop {
            if let Some(quotient) = self.div_to_scale(other, scale) {
                return Some(quotient);
            }
            // Too many digits in all: give up fraction digits, as a 65-digit result must.
            if scale == 0 {
                return None;
            }
            scale = scale.saturating_sub(9);
        }
    }

    fn div_to_scale(&self, other: &Decimal, scale: u32) -> Option<Decimal> {
        let negative = self.negative != other.negative;
        let shift = scale as i32 + i32::from(other.scale) - i32::from(self.scale);
        let quotient = if shift >= 0 {
            let shift = shift as usize;
            if let (Some(a), Some(b)) = (wide::to_u128(&self.coefficient), wide::to_u128(&other.coefficient))
                && shift <= 38
                && let Some(power) = wide::to_u128(&POW10[shift])
                && let Some(a) = a.checked_mul(power)
            {
                return Decimal::checked(wide::from_u128(a / b), scale as u8, negative);
            }
            let low = shift.min(77);
            let dividend = wide::mul(&self.coefficient, &POW10[low]);
            if shift > 77 {
                return None;
            }
            wide::div_rem(&dividend, &other.coefficient).0
        } else {
            let (scaled, _, _) = wide::div_pow10(&self.coefficient, shift.unsigned_abs() as usize);
            wide::div_rem(&wide::widen(&scaled), &other.coefficient).0
        };
        Decimal::checked(wide::narrow(&quotient)?, scale as u8, negative)
    }

    /// The rest of the division, with the sign of `self` and the larger scale. `None` if `other` is zero.
    #[must_use]
    pub fn rem(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale.max(other.scale);
        let a = wide::mul(&self.coefficient, &POW10[(scale - self.scale) as usize]);
        let b = wide::mul_pow10(&other.coefficient, (scale - other.scale) as usize)?;
        let (_, rest) = wide::div_rem(&a, &b);
        Decimal::checked(rest, scale, self.negative)
    }

    /// The integer part of the quotient (`DIV`), scale 0. `None` if `other` is zero or the result has too many
    /// digits.
    #[must_use]
    pub fn div_integer(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale.max(other.scale);
        let a = wide::mul(&self.coefficient, &POW10[(scale - self.scale) as usize]);
        let b = wide::mul_pow10(&other.coefficient, (scale - other.scale) as usize)?;
        let (quotient, _) = wide::div_rem(&a, &b);
        Decimal::checked(wide::narrow(&quotient)?, 0, self.negative != other.negative)
    }

    /// At this scale, rounded half away from zero or filled with zeros. If the zeros would be too many digits
    /// the scale is the largest that fits.
    #[must_use]
    pub fn round(&self, scale: u8) -> Decimal {
        self.rescale(scale, true)
    }

    /// At this scale, further digits cut off.
    #[must_use]
    pub fn truncate(&self, scale: u8) -> Decimal {
        self.rescale(scale, false)
    }

    fn rescale(&self, scale: u8, round: bool) -> Decimal {
        if scale == self.scale {
            return *self;
        }
        if scale > self.scale {
            let mut scale = scale.min(SCALE_MAX);
            while scale > self.scale {
                if let Some(coefficient) = wide::mul_pow10(&self.coefficient, (scale - self.scale) as usize)
                    && let Some(value) = Decimal::checked(coefficient, scale, self.negative)
                {
                    return value;
                }
                scale -= 1;
            }
            return *self;
        }
        let (mut coefficient, half_up, _) = wide::div_pow10(&self.coefficient, (self.scale - scale) as usize);
        if round && half_up {
            // Below 10^76 / 10 + 1: cannot overflow.
            coefficient = wide::add(&coefficient, &[1, 0, 0, 0]).unwrap_or(coefficient);
        }
        Decimal { coefficient, scale, negative: self.negative && !wide::is_zero(&coefficient) }
    }

    /// Rounded half away from zero at the `digits`-th digit before the point (`ROUND(x, -digits)`), scale 0;
    /// with `truncate`, cut off there instead. `None` if the rounded number has too many digits.
    #[must_use]
    pub fn round_integer(&self, digits: u32, truncate: bool) -> Option<Decimal> {
        let power = self.scale as usize + digits as usize;
        let (mut coefficient, half_up, _) = wide::div_pow10(&self.coefficient, power);
        if half_up && !truncate {
            coefficient = wide::add(&coefficient, &[1, 0, 0, 0])?;
        }
        Decimal::checked(wide::mul_pow10(&coefficient, digits as usize)?, 0, self.negative)
    }

    /// The largest integer not above, scale 0.
    #[must_use]
    pub fn floor(&self) -> Decimal {
        self.toward(self.negative)
    }

    /// The smallest integer not below, scale 0.
    #[must_use]
    pub fn ceil(&self) -> Decimal {
        self.toward(!self.negative)
    }

    fn toward(&self, away_from_zero: bool) -> Decimal {
        let (mut coefficient, _, exact) = wide::div_pow10(&self.coefficient, self.scale as usize);
        if away_from_zero && !exact {
            coefficient = wide::add(&coefficient, &[1, 0, 0, 0]).unwrap_or(coefficient);
        }
        Decimal { coefficient, scale: 0, negative: self.negative && !wide::is_zero(&coefficient) }
    }

    /// As a value of DECIMAL(precision, scale): rounded to the scale. `Err` holds the clipped value if it has
    /// too many digits before the point. The second part says whether rounding lost digits.
    pub fn fit(&self, precision: u32, scale: u8) -> Result<(Decimal, bool), Clipped<Decimal>> {
        let value = self.round(scale);
        if value.scale != scale || wide::digit_count(&value.coefficient) > precision.min(65) as usize {
            return Err(Clipped(Decimal::limit(precision, scale, self.negative)));
        }
        let lossy = scale < self.scale && value != *self;
        Ok((value, lossy))
    }

    /// Scale, sign and coefficient in `EXACT_BYTES` bytes: every value comes back as it was, its scale too.
    /// The bytes have no order.
    #[must_use]
    pub fn to_exact(&self) -> [u8; Decimal::EXACT_BYTES] {
        let mut bytes = [0; Decimal::EXACT_BYTES];
        bytes[0] = self.scale;
        bytes[1] = u8::from(self.negative);
        for (to, limb) in bytes[2..].chunks_exact_mut(8).zip(&self.coefficient) {
            to.copy_from_slice(&limb.to_le_bytes());
        }
        bytes
    }

    /// The value of [`Decimal::to_exact`]; `None` if the bytes are not of one.
    #[must_use]
    pub fn from_exact(bytes: &[u8; Decimal::EXACT_BYTES]) -> Option<Decimal> {
        let mut coefficient = wide::ZERO;
        for (limb, from) in coefficient.iter_mut().zip(bytes[2..].chunks_exact(8)) {
            *limb = u64::from_le_bytes(from.try_into().ok()?);
        }
        Decimal::checked(coefficient, bytes[0], bytes[1] == 1)
    }

    /// The nearest integer, half away from zero; `Err` holds the limit if it does not fit.
    pub fn to_i64(&self) -> Result<i64, Clipped<i64>> {
        let limit = Clipped(if self.negative { i64::MIN } else { i64::MAX });
        let value = self.round(0).small().ok_or(limit)?;
        i64::try_from(value).map_err(|_| limit)
    }

    /// The nearest integer, half away from zero; `Err` holds the limit if it does not fit (0 if negative).
    pub fn to_u64(&self) -> Result<u64, Clipped<u64>> {
        let limit = Clipped(if self.negative { 0 } else { u64::MAX });
        let value = self.round(0).small().ok_or(limit)?;
        u64::try_from(value).map_err(|_| limit)
    }

    /// The nearest double.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        // Both parts are exact below 2^53 and 10^22, so the quotient is correctly rounded.
        if self.coefficient[1] | self.coefficient[2] | self.coefficient[3] == 0
            && self.coefficient[0] < 1 << 53
            && self.scale <= 22
        {
            let value = self.coefficient[0] as f64 / EXACT_POWERS[self.scale as usize];
            return if self.negative { -value } else { value };
        }
        let mut text = [0; TEXT_BYTES_MAX];
        let text = self.format(&mut text);
        std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
    }

    /// Coefficient at `scale`, if it fits: 1.50 at scale 6 is 1_500_000. Rounds.
    #[must_use]
    pub fn to_units(&self, scale: u8) -> Option<i128> {
        let value = self.round(scale);
        if value.scale == scale { value.small() } else { None }
    }

    /// Without trailing zeros after the point.
    #[must_use]
    pub fn normalized(&self) -> Decimal {
        let mut value = *self;
        if value.is_zero() {
            return Decimal::ZERO;
        }
        while value.scale > 0 {
            let (quotient, _, exact) = wide::div_pow10(&value.coefficient, 1);
            if !exact {
                break;
            }
            value = Decimal { coefficient: quotient, scale: value.scale - 1, ..value };
        }
        value
    }

    /// Bytes of [`Decimal::write_key`] for a DECIMAL of this precision.
    #[must_use]
    pub fn key_bytes(precision: u32) -> usize {
        // One bit for the sign; 10^p needs p * log2(10) bits.
        (precision as usize * 3402 / 1024 + 2).div_ceil(8)
    }

    /// Appends the fixed-width memcomparable form of the value as DECIMAL(precision, scale): big-endian
    /// coefficient, highest bit set for values not below zero, all bits inverted for negative ones.
    /// The value must fit; one that does not is clipped.
    pub fn write_key(&self, precision: u32, scale: u8, out: &mut Vec<u8>) {
        let len = Decimal::key_bytes(precision);
        // As nearly all values of a column are: short, of its scale, and with no more digits than it has.
        if len <= size_of::<u64>()
            && self.scale == scale
            && self.is_short()
            && self.coefficient[0] < POW10[precision as usize][0]
        {
            let positive = self.coefficient[0] | 1 << (8 * len - 1);
            let bits = if self.negative { !positive } else { positive };
            out.extend_from_slice(&bits.to_be_bytes()[size_of::<u64>() - len..]);
            return;
        }
        let value = match self.fit(precision, scale) {
            Ok((value, _)) | Err(Clipped(value)) => value,
        };
        let mut bytes = [0u8; 32];
        for (i, limb) in value.coefficient.iter().rev().enumerate() {
            bytes[i * 8..i * 8 + 8].copy_from_slice(&limb.to_be_bytes());
        }
        let start = out.len();
        out.extend_from_slice(&bytes[32 - len..]);
        let key = &mut out[start..];
        key[0] |= 0x80;
        if value.negative {
            for byte in key {
                *byte = !*byte;
            }
        }
    }

    /// What [`Decimal::write_key`] wrote in `len` bytes, 1 to 8, as a number.
    #[inline]
    #[must_use]
    pub fn from_ordered_bits(bits: u64, len: usize, scale: u8) -> Decimal {
        let is_positive = bits >> (8 * len - 1) & 1 == 1;
        // Without the bit that says the sign, and what stands before the number.
        let magnitude = if is_positive { bits } else { !bits } & (u64::MAX >> (65 - 8 * len));
        Decimal { coefficient: [magnitude, 0, 0, 0], scale, negative: !is_positive && magnitude != 0 }
    }

    /// Reads what [`Decimal::write_key`] wrote, [`Decimal::key_bytes`] bytes.
    #[must_use]
    pub fn read_key(precision: u32, scale: u8, key: &[u8]) -> Option<Decimal> {
        let len = Decimal::key_bytes(precision);
        let key = key.get(..len)?;
        let negative = key[0] & 0x80 == 0;
        if len <= size_of::<u64>() {
            let bits = key.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
            return Some(Decimal::from_ordered_bits(bits, len, scale));
        }
        let mut bytes = [0u8; 32];
        for (to, &from) in bytes[32 - len..].iter_mut().zip(key) {
            *to = if negative { !from } else { from };
        }
        bytes[32 - len] &= 0x7f;
        let mut coefficient = wide::ZERO;
        for (i, limb) in coefficient.iter_mut().rev().enumerate() {
            *limb = u64::from_be_bytes(bytes[i * 8..i * 8 + 8].try_into().ok()?);
        }
        Decimal::checked(coefficient, scale, negative)
    }
}

/// Powers of ten that a short coefficient may be multiplied with: the product, and the sum of two, fit an `i128`.
static SHORT_POWERS: [u64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// Powers of ten that a double holds exactly.
static EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

impl Ord for Decimal {
    #[inline]
    fn cmp(&self, other: &Decimal) -> Ordering {
        match self.short_aligned(other) {
            Some((a, b, _)) => a.cmp(&b),
            None => self.cmp_wide(other),
        }
    }
}

impl Decimal {
    fn cmp_wide(&self, other: &Decimal) -> Ordering {
        if self.negative != other.negative {
            return if self.negative { Ordering::Less } else { Ordering::Greater };
        }
        let magnitude = match self.aligned(other) {
            Some((a, b, _)) => wide::cmp(&a, &b),
            // One of them does not even fit at the common scale: more digits before the point decide.
            None => {
                let by_digits = self.integer_digits().cmp(&other.integer_digits());
                if by_digits.is_ne() {
                    by_digits
                } else {
                    self.normalized().cmp_magnitude_slow(&other.normalized())
                }
            }
        };
        if self.negative { magnitude.reverse() } else { magnitude }
    }
}

impl Decimal {
    #[cold]
    fn cmp_magnitude_slow(&self, other: &Decimal) -> Ordering {
        let scale = self.scale.max(other.scale);
        let a = wide::mul(&self.coefficient, &POW10[(scale - self.scale) as usize]);
        let b = wide::mul(&other.coefficient, &POW10[(scale - other.scale) as usize]);
        a.iter().rev().cmp(b.iter().rev())
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let normal = self.normalized();
        normal.coefficient.hash(state);
        normal.scale.hash(state);
        normal.negative.hash(state);
    }
}

#[cfg(test)]
mod tests;
