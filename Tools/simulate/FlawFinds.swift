/// How a flaw is found.
extension Flaw {
    /// The first seed whose audit shows the flaw.
    func firstFind(within seeds: Range<UInt64>) -> UInt64? {
        ([rareFind].compactMap(\.self) + Array(seeds)).first { seed in
            Simulation(seed: seed, flaw: self).run().contains { fault in evidence.map { fault.contains($0) } ?? true }
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

    /// A seed that finds a flaw that few seeds find, to save time. A change of the engine may require another seed.
    private var rareFind: UInt64? {
        switch self {
        case .fenceAfterClaim: 729
        case .claimedOncePerAssignment: 35_883
        case .failedFenceIgnored: 73
        case .stateKeptBlindly: 197
        case .truncationNotNoticed: 67
        case .notesAndForwardsInOneFlush: 407
        case .sumsNotClosed: 521
        case .recordsNotCounted: 805
        case .chainNotFollowed: 473
        case .oldestNotHeld: 117
        case .menuNotCompared: 88
        case .openTransactionsNotWaitedFor: 53
        case .logSamenessNotChecked: 31
        case .gapNotNoticed: 313
        case .lostAnswerMisreported: 1069
        case .intervalsOfWallClock: 62
        default: nil
        }
    }
}
