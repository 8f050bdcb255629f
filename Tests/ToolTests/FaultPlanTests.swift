import Testing

@testable import FaultyNetwork

@Suite("Faults are chosen by kind, rate and seed") struct FaultPlanTests {
    /// The simplest generator that a seed repeats (Marsaglia's xorshift).
    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }

    private static let every = Set(FaultPlan.shares.keys)

    private func faults(of key: ApiKey, rate: Double = 100, kinds: Set<ApiKey> = every, seed: UInt64 = 7) -> [Fault] {
        var plan = FaultPlan(rate: rate, kinds: kinds, random: Random(state: seed))
        return (0..<10_000).map { _ in plan.fault(for: key) }
    }

    @Test func sameSeedChoosesTheSame() {
        #expect(faults(of: .endTxn) == faults(of: .endTxn))
        #expect(faults(of: .endTxn) != faults(of: .endTxn, seed: 8))
    }

    @Test func rateIsKept() {
        #expect((800...1_200).contains(faults(of: .endTxn, rate: 10).count { $0 != .none }))
        #expect(faults(of: .endTxn, rate: 0).allSatisfy { $0 == .none })
    }

    @Test func onlyTheKindsNamedAreTroubled() {
        #expect(faults(of: .endTxn, kinds: [.endTxn]).allSatisfy { $0 != .none })
        #expect(faults(of: .produce, kinds: [.endTxn]).allSatisfy { $0 == .none })
        // Requests that lead clients to the listeners never get a fault.
        #expect(faults(of: .apiVersions).allSatisfy { $0 == .none })
    }

    /// A request that changes nothing does not come late.
    @Test(arguments: every) func everyFaultIsMet(key: ApiKey) {
        var counts = RequestCounts()
        for fault in [Fault.none] + faults(of: key) { counts.add(fault, to: key) }
        let rows = counts.table
        #expect(rows.map(\.first) == ["requests", key.name])
        let met = zip(rows[0], rows[1]).dropFirst().filter { $0.1 != "0" }.map(\.0)
        #expect(
            met
                == (FaultPlan.mayComeLate.contains(key)
                    ? ["passed", "held back", "cut", "delayed", "answer dropped", "replayed"]
                    : ["passed", "cut", "delayed", "answer dropped"]))
    }
}
