//! Numbers: the types cuDNN computes in, their rounding, and random values that anyone can compute again.
//!
//! A tensor's element `i` is a function of a seed and `i`, so large tensors are filled by all cores at once and a printed
//! seed brings a failed run back. Values are rounded to the type before they are uploaded: the reference then starts from
//! exactly what the GPU was given, and what is left is the library's own error.

use std::num::NonZero;

use serde::{Deserialize, Serialize};

/// A type of numbers, and for 32-bit floats the way in which they are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats, multiplied as such.
    Fp32,
    /// 32-bit floats of which the tensor cores look at 10 bits of mantissa.
    Tf32,
    /// 16-bit floats with 10 bits of mantissa; sums in 32 bits.
    Fp16,
    /// 16-bit floats with 7 bits of mantissa; sums in 32 bits.
    Bf16,
}

impl Precision {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fp32, Self::Tf32, Self::Fp16, Self::Bf16];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
        }
    }

    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Fp32 | Self::Tf32 => 4,
            Self::Fp16 | Self::Bf16 => 2,
        }
    }

    /// The largest ‖out−ref‖/‖ref‖ that counts as right.
    ///
    /// What the type itself costs is 6e-8, 3e-4 (Winograd rounds again after its transform), 2e-4 and 2e-3; the bounds leave
    /// room for Winograd and for long sums, and stay far below what one wrong tap of a 3x3 filter gives (0.2).
    pub const fn bound(self) -> f64 {
        match self {
            Self::Fp32 => 1e-4,
            Self::Tf32 => 3e-3,
            Self::Fp16 => 5e-3,
            Self::Bf16 => 2e-2,
        }
    }

    /// The nearest value the type has, ties to even.
    pub fn round(self, value: f32) -> f32 {
        match self {
            Self::Fp32 => value,
            Self::Tf32 => round_mantissa(value, 13),
            Self::Bf16 => round_mantissa(value, 16),
            Self::Fp16 => half_to_f32(f32_to_half(value)),
        }
    }

    /// Four bytes that make an untouched output a NaN in this type.
    pub const fn poison(self) -> u32 {
        match self {
            Self::Fp32 | Self::Tf32 => 0x7fc0_dead,
            Self::Fp16 => 0x7ead_7ead,
            Self::Bf16 => 0x7fed_7fed,
        }
    }

    /// Four bytes that hold the value one (or two of them).
    pub const fn ones(self) -> u32 {
        match self {
            Self::Fp32 | Self::Tf32 => 0x3f80_0000,
            Self::Fp16 => 0x3c00_3c00,
            Self::Bf16 => 0x3f80_3f80,
        }
    }

    /// The bytes of values that are already rounded.
    pub fn encode(self, values: &[f32], bytes: &mut [u8]) {
        let size = self.bytes();
        in_parallel(bytes, values.len(), size, |first, part| {
            let values = &values[first..];
            match self {
                Self::Fp32 | Self::Tf32 => {
                    for (slot, value) in part.as_chunks_mut::<4>().0.iter_mut().zip(values) {
                        *slot = value.to_ne_bytes();
                    }
                }
                Self::Fp16 => {
                    for (slot, value) in part.as_chunks_mut::<2>().0.iter_mut().zip(values) {
                        *slot = f32_to_half(*value).to_ne_bytes();
                    }
                }
                Self::Bf16 => {
                    for (slot, value) in part.as_chunks_mut::<2>().0.iter_mut().zip(values) {
                        *slot = ((value.to_bits() >> 16) as u16).to_ne_bytes();
                    }
                }
            }
        });
    }

    /// The value in the first bytes of a slice.
    ///
    /// # Panics
    ///
    /// When the slice is shorter than one element.
    pub fn decode(self, bytes: &[u8]) -> f64 {
        let two = || u16::from_ne_bytes([bytes[0], bytes[1]]);
        f64::from(match self {
            Self::Fp32 | Self::Tf32 => f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            Self::Fp16 => half_to_f32(two()),
            Self::Bf16 => f32::from_bits(u32::from(two()) << 16),
        })
    }

    /// How many elements are NaN or infinite. Exponent bits alone decide, so this runs at the speed of memory.
    pub fn count_not_finite(self, bytes: &[u8]) -> usize {
        let count = |bytes: &[u8]| match self {
            Self::Fp32 | Self::Tf32 => bytes
                .as_chunks::<4>()
                .0
                .iter()
                .filter(|bytes| u32::from_ne_bytes(**bytes) & 0x7f80_0000 == 0x7f80_0000)
                .count(),
            Self::Fp16 => special_halves(bytes, 0x7c00),
            Self::Bf16 => special_halves(bytes, 0x7f80),
        };
        let share = bytes.len().div_ceil(cores() * 4) * 4;
        std::thread::scope(|scope| {
            let workers: Vec<_> = bytes
                .chunks(share.max(1 << 16))
                .map(|part| scope.spawn(move || count(part)))
                .collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("counting can't panic"))
                .sum()
        })
    }
}

fn special_halves(bytes: &[u8], exponent: u16) -> usize {
    let halves = bytes.as_chunks::<2>().0.iter();
    halves
        .filter(|bytes| u16::from_ne_bytes(**bytes) & exponent == exponent)
        .count()
}

/// `count` values in [-1, 1), fresh for each seed, rounded to the type.
pub fn random(seed: u64, count: usize, precision: Precision) -> Vec<f32> {
    let mut values = vec![0_f32; count];
    in_parallel(&mut values, count, 1, |first, part| {
        for (position, slot) in part.iter_mut().enumerate() {
            *slot = precision.round(uniform(seed, (first + position) as u64));
        }
    });
    values
}

/// A whole number below `limit`, the `position`-th of this seed.
pub fn below(seed: u64, position: u64, limit: usize) -> usize {
    let wide = u128::from(mix(seed, position)) * limit as u128;
    usize::try_from(wide >> 64).expect("it is below `limit`")
}

/// A seed that differs from run to run: the standard library's hash keys come from the operating system.
pub fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

fn uniform(seed: u64, position: u64) -> f32 {
    // 24 bits are all that a 32-bit float holds.
    let bits = (mix(seed, position) >> 40) as u32;
    bits as f32 / 8_388_608.0 - 1.0
}

/// SplitMix64 (Steele, Lea, Flood 2014), used by counter.
fn mix(seed: u64, position: u64) -> u64 {
    let mut z = seed.wrapping_add(position.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Runs `work(first element, slots)` over equal parts of `slots`, which holds `count` elements of `width` slots each.
fn in_parallel<T: Send>(
    slots: &mut [T],
    count: usize,
    width: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    let share = count.div_ceil(cores()).max(1 << 14);
    std::thread::scope(|scope| {
        for (number, part) in slots[..count * width].chunks_mut(share * width).enumerate() {
            let work = &work;
            scope.spawn(move || work(number * share, part));
        }
    });
}

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

fn round_mantissa(value: f32, dropped: u32) -> f32 {
    let bits = value.to_bits();
    let half = (1 << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
    f32::from_bits(bits.wrapping_add(half) & !((1 << dropped) - 1))
}

/// Finite values only; what is too small for a half becomes a subnormal or zero, as the hardware does.
fn f32_to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Adding 0.5 leaves the subnormal half's mantissa, rounded to even, in the low bits of the sum.
        let shifted = f32::from_bits(magnitude) + 0.5;
        return sign | (shifted.to_bits() - 0.5_f32.to_bits()) as u16;
    }
    let rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    sign | ((rounded - 0x3800_0000) >> 13) as u16
}

fn half_to_f32(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let magnitude = u32::from(half & 0x7fff);
    let value = match magnitude >> 10 {
        0 => magnitude as f32 / 16_777_216.0,
        31 => f32::from_bits(0x7f80_0000 | (magnitude << 13)),
        _ => f32::from_bits((magnitude << 13) + 0x3800_0000),
    };
    f32::from_bits(value.to_bits() | sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_as_ieee_says() {
        for (value, half) in [
            (0.0, 0x0000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65520.0, 0x7c00),
            (0.1, 0x2e66),
            // Ties go to even: 1 + 2^-11 down, 1 + 3*2^-11 up.
            (1.000_488_3, 0x3c00),
            (1.001_464_8, 0x3c02),
            // The smallest subnormal, and half of it.
            (5.960_464_5e-8, 0x0001),
            (2.980_232_2e-8, 0x0000),
        ] {
            assert_eq!(f32_to_half(value), half, "{value}");
        }
        for half in 0..0x7c00 {
            assert_eq!(f32_to_half(half_to_f32(half)), half);
        }
    }

    #[test]
    fn bfloat_and_tf32_keep_their_mantissa_bits() {
        for (precision, value, rounded) in [
            (Precision::Bf16, 1.003_906_2, 1.0),
            (Precision::Bf16, 1.011_718_8, 1.015_625),
            (Precision::Tf32, 1.000_488_3, 1.0),
            (Precision::Tf32, 1.001_464_8, 1.001_953_1),
            (Precision::Fp32, 0.1, 0.1),
        ] {
            assert_eq!(precision.round(value), rounded, "{precision:?} {value}");
        }
    }

    #[test]
    fn values_survive_the_trip_through_bytes() {
        for precision in Precision::ALL {
            let values = random(7, 40_000, precision);
            let mut bytes = vec![0; values.len() * precision.bytes()];
            precision.encode(&values, &mut bytes);
            assert_eq!(precision.count_not_finite(&bytes), 0);
            for (value, bytes) in values.iter().zip(bytes.chunks(precision.bytes())) {
                assert_eq!(f64::from(*value), precision.decode(bytes), "{precision:?}");
            }
        }
    }

    #[test]
    fn poison_is_not_a_number_in_every_type() {
        for precision in Precision::ALL {
            let bytes: Vec<u8> = std::iter::repeat_n(precision.poison().to_ne_bytes(), 1000)
                .flatten()
                .collect();
            assert!(precision.decode(&bytes).is_nan());
            assert_eq!(
                precision.count_not_finite(&bytes),
                bytes.len() / precision.bytes()
            );
            let ones = precision.ones().to_ne_bytes();
            assert_eq!(precision.decode(&ones), 1.0);
        }
    }

    #[test]
    fn random_values_differ_by_seed_and_fill_the_range() {
        let values = random(1, 100_000, Precision::Fp32);
        assert_ne!(values, random(2, 100_000, Precision::Fp32));
        assert_eq!(values, random(1, 100_000, Precision::Fp32));
        let mean: f32 = values.iter().sum::<f32>() / 1e5;
        let square: f32 = values.iter().map(|value| value * value).sum::<f32>() / 1e5;
        assert!(mean.abs() < 0.01, "{mean}");
        assert!((square - 1.0 / 3.0).abs() < 0.01, "{square}");
        assert!((0..1000).all(|position| below(3, position, 17) < 17));
    }
}
