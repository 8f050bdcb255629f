/// How a flaw is found.
extension Flaw {
    /// The first seed whose audit shows the flaw.
    func firstFind(within seeds: Range<UInt64>) -> UInt64? {
        seeds.first { seed in
            Simulation(seed: seed, flaw: self).run().contains { fault in evidence.map { fault.contains($0) } ?? true }
        }
    }

    /// The harm without which the flaw does not show. Few runs do it by themselves.
    var harm: Harm.Kind? {
        switch self {
        case .recordsNotCounted: .lostAnswers
        case .chainNotFollowed: .compactedResults
        default: nil
        }
    }

    /// The text that a fault must contain to count, for some flaws.
    private var evidence: String? {
        switch self {
        // This flaw also forwards commands with wrong times. Only commands executed twice count.
        case .windowByReadersClock: "carried out again"
        // Only ``SimulatedTruth`` counts, as if the audit shared the flaw.
        case .levelMisread, .positionMisread: "truth: "
        default: nil
        }
    }
}
