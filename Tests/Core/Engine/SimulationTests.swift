import Testing

@testable import simulate

/// The tool itself. `make test` runs its seeds and flaws in a release build, which is some forty times as fast.
@Suite struct SimulationTests {
    @Test func aSeedIsAlwaysTheSameRun() {
        let traces = (0..<2).map { _ in
            var lines: [String] = []
            _ = Simulation(seed: 7) { lines.append($0) }.run()
            return lines
        }
        #expect(traces[0].count > 100)
        #expect(traces[0] == traces[1])
    }
}
