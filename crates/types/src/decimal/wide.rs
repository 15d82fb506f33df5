//! Unsigned 256-bit arithmetic for decimal coefficients, little-endian limbs of 64 bits.

pub(super) type U256 = [u64; 4];

pub(super) const ZERO: U256 = [0; 4];

/// 10^n for n in 0..=77; 10^77 is the largest power of ten below 2^256.
pub(super) static POW10: [U256; 78] = pow10_table();

const fn pow10_table() -> [U256; 78] {
    let mut table = [[0; 4]; 78];
    table[0] = [1, 0, 0, 0];
    let mut i = 1;
    while i < 78 {
        let mut carry: u128 = 0;
        let mut limb = 0;
        while limb < 4 {
            let product = table[i - 1][limb] as u128 * 10 + carry;
            table[i][limb] = product as u64;
            carry = product >> 64;
            limb += 1;
        }
        assert!(carry == 0);
        i += 1;
    }
    table
}

#[inline]
pub(super) fn is_zero(a: &U256) -> bool {
    a[0] | a[1] | a[2] | a[3] == 0
}

/// The value, if it fits 128 bits.
#[inline]
pub(super) fn to_u128(a: &U256) -> Option<u128> {
    if a[2] | a[3] == 0 { Some(u128::from(a[1]) << 64 | u128::from(a[0])) } else { None }
}

#[inline]
pub(super) fn from_u128(a: u128) -> U256 {
    [a as u64, (a >> 64) as u64, 0, 0]
}

#[inline]
pub(super) fn cmp(a: &U256, b: &U256) -> std::cmp::Ordering {
    (a[3], a[2], a[1], a[0]).cmp(&(b[3], b[2], b[1], b[0]))
}

/// `a + b`; `None` on overflow.
#[inline]
pub(super) fn add(a: &U256, b: &U256) -> Option<U256> {
    let mut out = ZERO;
    let mut carry = false;
    for i in 0..4 {
        let (sum, c1) = a[i].overflowing_add(b[i]);
        let (sum, c2) = sum.overflowing_add(u64::from(carry));
        out[i] = sum;
        carry = c1 | c2;
    }
    (!carry).then_some(out)
}

/// `a - b`; the caller has checked `a >= b`.
#[inline]
pub(super) fn sub(a: &U256, b: &U256) -> U256 {
    let mut out = ZERO;
    let mut borrow = false;
    for i in 0..4 {
        let (difference, b1) = a[i].overflowing_sub(b[i]);
        let (difference, b2) = difference.overflowing_sub(u64::from(borrow));
        out[i] = difference;
        borrow = b1 | b2;
    }
    debug_assert!(!borrow);
    out
}

/// The whole product, 512 bits.
pub(super) fn mul(a: &U256, b: &U256) -> [u64; 8] {
    let mut out = [0u64; 8];
    for (i, &x) in a.iter().enumerate() {
        if x == 0 {
            continue;
        }
        let mut carry: u128 = 0;
        for (j, &y) in b.iter().enumerate() {
            let t = u128::from(x) * u128::from(y) + u128::from(out[i + j]) + carry;
            out[i + j] = t as u64;
            carry = t >> 64;
        }
        out[i + 4] = carry as u64;
    }
    out
}

/// `a * 10^power`; `None` if it does not fit 256 bits.
pub(super) fn mul_pow10(a: &U256, power: usize) -> Option<U256> {
    if power == 0 || is_zero(a) {
        return Some(*a);
    }
    if power > 77 {
        return None;
    }
    narrow(&mul(a, &POW10[power]))
}

/// The low 256 bits, if the rest is zero.
pub(super) fn narrow(a: &[u64; 8]) -> Option<U256> {
    if a[4] | a[5] | a[6] | a[7] == 0 { Some([a[0], a[1], a[2], a[3]]) } else { None }
}

/// `a / b` and `a % b` with a 512-bit dividend; `b` is not zero. The quotient may need 512 bits.
pub(super) fn div_rem(a: &[u64; 8], b: &U256) -> ([u64; 8], U256) {
    if b[1] | b[2] | b[3] == 0 {
        let divisor = u128::from(b[0]);
        let mut quotient = [0u64; 8];
        let mut rest: u128 = 0;
        for i in (0..8).rev() {
            let part = rest << 64 | u128::from(a[i]);
            quotient[i] = (part / divisor) as u64;
            rest = part % divisor;
        }
        return (quotient, [rest as u64, 0, 0, 0]);
    }
    // Knuth, The Art of Computer Programming 4.3.1, Algorithm D, with digits of 32 bits.
    let mut u = [0u32; 17];
    for i in 0..8 {
        u[2 * i] = a[i] as u32;
        u[2 * i + 1] = (a[i] >> 32) as u32;
    }
    let mut v = [0u32; 8];
    for i in 0..4 {
        v[2 * i] = b[i] as u32;
        v[2 * i + 1] = (b[i] >> 32) as u32;
    }
    let n = 8 - v.iter().rev().take_while(|&&digit| digit == 0).count();
    let shift = v[n - 1].leading_zeros();
    let shifted = |digits: &[u32], i: usize| -> u32 {
        let low = if i == 0 || shift == 0 { 0 } else { digits[i - 1] >> (32 - shift) };
        digits[i] << shift | low
    };
    let un: [u32; 17] = std::array::from_fn(|i| shifted(&u, i));
    let vn: [u32; 8] = std::array::from_fn(|i| if i < n { shifted(&v, i) } else { 0 });
    u = un;
    v = vn;
    let mut q = [0u32; 16];
    for j in (0..=16 - n).rev() {
        let top = u64::from(u[j + n]) << 32 | u64::from(u[j + n - 1]);
        let mut guess = top / u64::from(v[n - 1]);
        let mut rest = top % u64::from(v[n - 1]);
        while guess >> 32 != 0 || guess * u64::from(v[n - 2]) > (rest << 32 | u64::from(u[j + n - 2])) {
            guess -= 1;
            rest += u64::from(v[n - 1]);
            if rest >> 32 != 0 {
                break;
            }
        }
        let mut borrow: i64 = 0;
        let mut carry: u64 = 0;
        for i in 0..n {
            let product = guess * u64::from(v[i]) + carry;
            carry = product >> 32;
            let t = i64::from(u[i + j]) - borrow - i64::from(product as u32);
            u[i + j] = t as u32;
            borrow = i64::from(t < 0);
        }
        let t = i64::from(u[j + n]) - borrow - carry as i64;
        u[j + n] = t as u32;
        if t < 0 {
            guess -= 1;
            let mut carry: u64 = 0;
            for i in 0..n {
                let t = u64::from(u[i + j]) + u64::from(v[i]) + carry;
                u[i + j] = t as u32;
                carry = t >> 32;
            }
            u[j + n] = u[j + n].wrapping_add(carry as u32);
        }
        if j < 16 {
            q[j] = guess as u32;
        }
    }
    let quotient = std::array::from_fn(|i| u64::from(q[2 * i + 1]) << 32 | u64::from(q[2 * i]));
    let unshifted = |i: usize| -> u32 {
        let high = if shift == 0 || i + 1 > 16 { 0 } else { u[i + 1] << (32 - shift) };
        u[i] >> shift | high
    };
    let rest = std::array::from_fn(|i| u64::from(unshifted(2 * i + 1)) << 32 | u64::from(unshifted(2 * i)));
    (quotient, rest)
}

/// `a / 10^power` and whether the rest is at least half of `10^power`, and whether it is zero.
pub(super) fn div_pow10(a: &U256, power: usize) -> (U256, bool, bool) {
    if power == 0 {
        return (*a, false, true);
    }
    if power > 77 {
        return (ZERO, false, is_zero(a));
    }
    let divisor = &POW10[power];
    if let (Some(a), Some(d)) = (to_u128(a), to_u128(divisor)) {
        let rest = a % d;
        return (from_u128(a / d), rest >= d / 2, rest == 0);
    }
    let (quotient, rest) = div_rem(&widen(a), divisor);
    let (half, _) = div_rem(&widen(divisor), &[2, 0, 0, 0]);
    let half = [half[0], half[1], half[2], half[3]];
    ([quotient[0], quotient[1], quotient[2], quotient[3]], cmp(&rest, &half).is_ge(), is_zero(&rest))
}

pub(super) fn widen(a: &U256) -> [u64; 8] {
    [a[0], a[1], a[2], a[3], 0, 0, 0, 0]
}

/// Decimal digits of `a`; 0 has none.
pub(super) fn digit_count(a: &U256) -> usize {
    let bits = match a.iter().rposition(|&limb| limb != 0) {
        None => return 0,
        Some(top) => top * 64 + 64 - a[top].leading_zeros() as usize,
    };
    // floor(bits * log10(2)) is the count or one less.
    let guess = (bits * 1233) >> 12;
    if guess < 78 && cmp(a, &POW10[guess]).is_ge() { guess + 1 } else { guess }
}
