import CoreMetrics
import Testing

@testable import JuiceWeb

/// Tests that values recorded with swift-metrics appear in Prometheus' text format.
@Suite struct PrometheusRegistryTests {
    @Test func countersAreSummedByTheirLabels() {
        let registry = PrometheusRegistry(help: [("orders_total", "Orders.")])
        for (result, amount) in [("made", 2), ("short", 1), ("made", 3)] {
            Counter(label: "orders_total", dimensions: [("result", result)], factory: registry).increment(by: amount)
        }
        let text = """
            # HELP orders_total Orders.
            # TYPE orders_total counter
            orders_total{result="made"} 5
            orders_total{result="short"} 1

            """
        #expect(registry.text() == text)
    }

    @Test func gaugesAndMetersHoldTheLastValue() {
        let registry = PrometheusRegistry()
        // Labels are ordered by their names.
        for value in [7, 1.5] { Gauge(label: "level", dimensions: [("b", "1"), ("a", "2")], factory: registry).record(value) }
        for value in [3, 4] { Meter(label: "depth", factory: registry).set(value) }
        #expect(registry.text() == "# TYPE depth gauge\ndepth 4\n# TYPE level gauge\nlevel{a=\"2\",b=\"1\"} 1.5\n")
    }

    @Test func timersAreHistogramsInSeconds() {
        let registry = PrometheusRegistry(help: [("wait_seconds", "Waiting.")])
        let timer = Timer(label: "wait_seconds", dimensions: [("of", "x")], factory: registry)
        for milliseconds in [5, 10, 50, 2000] { timer.recordMilliseconds(milliseconds) }
        let lines = registry.text().split(separator: "\n").map(String.init)
        #expect(lines.prefix(2) == ["# HELP wait_seconds Waiting.", "# TYPE wait_seconds histogram"])
        let buckets = [("0.0025", 0), ("0.005", 1), ("0.01", 2), ("0.05", 3), ("1", 3), ("2.5", 4), ("300", 4), ("+Inf", 4)]
        for (bound, count) in buckets { #expect(lines.contains(#"wait_seconds_bucket{of="x",le="\#(bound)"} \#(count)"#)) }
        #expect(lines.suffix(2) == [#"wait_seconds_sum{of="x"} 2.065"#, #"wait_seconds_count{of="x"} 4"#])
    }

    @Test(arguments: [(0.0, "0"), (-3, "-3"), (0.005, "0.005"), (.infinity, "+Inf"), (1e300, "1e+300")])
    func formatsNumbersForPrometheus(value: Double, text: String) {
        #expect(TextFormat.number(value) == text)
    }

    @Test func omitsDestroyedMetrics() {
        let registry = PrometheusRegistry()
        let gauge = Gauge(label: "lag", dimensions: [("partition", "1")], factory: registry)
        gauge.record(1)
        Gauge(label: "lag", dimensions: [("partition", "2")], factory: registry).record(2)
        gauge.destroy()
        #expect(registry.text() == "# TYPE lag gauge\nlag{partition=\"2\"} 2\n")
    }

    @Test func collectorsAreAskedEachTime() {
        let registry = PrometheusRegistry()
        let counter = Counter(label: "asked_total", factory: registry)
        registry.onCollect { counter.increment() }
        _ = registry.text()
        #expect(registry.text().contains("asked_total 2\n"))
    }

    @Test func nothingIsLostBetweenThreads() async {
        let registry = PrometheusRegistry()
        let timer = Timer(label: "t_seconds", factory: registry)
        await withTaskGroup(of: Void.self) { tasks in
            for _ in 0..<8 {
                tasks.addTask { for _ in 0..<1000 { timer.recordNanoseconds(1) } }
            }
        }
        #expect(registry.text().contains("t_seconds_count 8000\n"))
    }

    @Test func theProcessKnowsItself() throws {
        let lines = ProcessMetrics.text(startedAt: 1_700_000_000).split(separator: "\n").filter { !$0.hasPrefix("#") }
        let samples = Dictionary(
            uniqueKeysWithValues: lines.map { line in
                let fields = line.split(separator: " ")
                return (String(fields[0]), Double(fields[1]) ?? .nan)
            })
        #expect(try #require(samples["process_cpu_seconds_total"]) > 0)
        #expect(samples["process_start_time_seconds"] == 1_700_000_000)
        #if os(Linux)
            let resident = try #require(samples["process_resident_memory_bytes"])
            #expect(resident > 1_000_000)
            #expect(try #require(samples["process_virtual_memory_bytes"]) >= resident)
            #expect(try #require(samples["process_open_fds"]) > 2)
            #expect(try #require(samples["process_threads"]) >= 1)
        #endif
    }
}
