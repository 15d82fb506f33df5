//! What the processor can, as a program sees it that runs on it, or inside Valgrind.

/// The processor's features that libraries choose their code by, as seen here.
pub(crate) fn features() -> String {
    let mut found = vec![std::env::consts::ARCH];
    #[cfg(target_arch = "x86_64")]
    {
        let known = [
            ("sse4.2", std::arch::is_x86_feature_detected!("sse4.2")),
            ("pclmulqdq", std::arch::is_x86_feature_detected!("pclmulqdq")),
            ("avx2", std::arch::is_x86_feature_detected!("avx2")),
            ("bmi2", std::arch::is_x86_feature_detected!("bmi2")),
            ("avx512bw", std::arch::is_x86_feature_detected!("avx512bw")),
        ];
        found.extend(known.into_iter().filter_map(|(name, there)| there.then_some(name)));
    }
    found.join(" ")
}
