import JuiceDomain
import Testing

@testable import FaultyNetwork

struct FaultPlanTests {
    private static let every = Set(FaultPlan.shares.keys)

    private func faults(of key: ApiKey, rate: Double = 100, kinds: Set<ApiKey> = every, seed: UInt64 = 7) -> [Fault] {
        var plan = FaultPlan(rate: rate, kinds: kinds, random: SeededGenerator(seed: seed))
        return (0..<10_000).map { _ in plan.fault(for: key) }
    }

    @Test func theyAreChosenByKindRateAndSeed() {
        #expect(faults(of: .endTxn) == faults(of: .endTxn))
        #expect(faults(of: .endTxn) != faults(of: .endTxn, seed: 8))
        #expect((800...1_200).contains(faults(of: .endTxn, rate: 10).count { $0 != .none }))
        #expect(faults(of: .endTxn, kinds: [.endTxn]).allSatisfy { $0 != .none })
        // Requests that lead clients to the listeners never get a fault.
        let spared = [faults(of: .endTxn, rate: 0), faults(of: .produce, kinds: [.endTxn]), faults(of: .apiVersions)]
        #expect(spared.joined().allSatisfy { $0 == .none })
    }

    /// A request that changes nothing does not come late.
    @Test(arguments: every) func everyFaultIsMet(key: ApiKey) {
        var counts = RequestCounts()
        for fault in [Fault.none] + faults(of: key) { counts.add(fault, to: key) }
        let rows = counts.table
        #expect(rows.map(\.first) == ["requests", key.name])
        let met = zip(rows[0], rows[1]).dropFirst().filter { $0.1 != "0" }.map(\.0)
        let late = FaultPlan.mayComeLate.contains(key)
        #expect(
            met == ["passed"] + (late ? ["held back"] : []) + ["cut", "delayed", "answer dropped"] + (late ? ["replayed"] : []))
    }
}
