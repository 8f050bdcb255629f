import CoreMetrics
import Synchronization

/// A swift-metrics backend that keeps all metrics in memory and exports them in Prometheus' text format.
///
/// A metric's label becomes its name, so follow Prometheus' naming rules, units included.
/// Counters stay counters, meters and gauges become gauges, and recorders and timers become histograms, timers in seconds.
package final class PrometheusRegistry: MetricsFactory {
    /// What swift-metrics does not know about a metric.
    package struct Description: Sendable {
        package let name: String
        /// What it counts or measures, in one sentence.
        let help: String
        /// The upper bounds of a histogram's buckets, ascending, without infinity; by default from 1 ms to 10 s.
        let buckets: [Double]?

        package init(_ name: String, help: String, buckets: [Double]? = nil) {
            (self.name, self.help, self.buckets) = (name, help, buckets)
        }
    }

    private enum Kind: String { case counter, gauge, histogram }

    private struct State {
        /// The series by name, and then by formatted labels. A name has one kind.
        var families: [String: (kind: Kind, series: [String: any Series])] = [:]
        var collectors: [@Sendable () -> Void] = []
    }

    private static let usualBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private let descriptions: [String: Description]
    private let state = Mutex(State())

    package init(descriptions: [Description] = []) {
        self.descriptions = Dictionary(descriptions.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Calls `collector` before each ``text()``, for values that are sampled rather than counted.
    package func onCollect(_ collector: @escaping @Sendable () -> Void) { state.withLock { $0.collectors.append(collector) } }

    /// All metrics in Prometheus' text format, version 0.0.4, sorted by name.
    package func text() -> String {
        for collector in state.withLock({ $0.collectors }) { collector() }
        let families = state.withLock { $0.families }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) where !family.series.isEmpty {
            if let help = descriptions[name]?.help { text += "# HELP \(name) \(TextFormat.escaped(help))\n" }
            text += "# TYPE \(name) \(family.kind.rawValue)\n"
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                series.write(name: name, labels: labels, to: &text)
            }
        }
        return text
    }

    /// The media type of ``text()``.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The series with these labels, made if needed. A series of another kind than its name has works, but is not exported.
    private func series<Handler: Series>(
        _ label: String, _ dimensions: [(String, String)], _ kind: Kind, make: () -> Handler
    ) -> Handler {
        let labels = TextFormat.labels(dimensions)
        return state.withLock { state in
            let family = state.families[label, default: (kind, [:])]
            if let series = family.series[labels] as? Handler, family.kind == kind { return series }
            let series = make()
            if family.kind == kind { state.families[label, default: (kind, [:])].series[labels] = series }
            return series
        }
    }

    private func remove(_ handler: AnyObject) {
        state.withLock { state in
            for (name, family) in state.families {
                state.families[name]?.series = family.series.filter { $0.value !== handler }
            }
        }
    }

    // MARK: - MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, .counter) { CounterSeries() }
    }

    package func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        series(label, dimensions, .counter) { NumberSeries() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions, .gauge) { NumberSeries() }
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return series(label, dimensions, .gauge) { NumberSeries() } }
        return histogram(label, dimensions)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { histogram(label, dimensions) }

    private func histogram(_ label: String, _ dimensions: [(String, String)]) -> HistogramSeries {
        series(label, dimensions, .histogram) { HistogramSeries(bounds: descriptions[label]?.buckets ?? Self.usualBuckets) }
    }

    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    package func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}

// MARK: - Series

/// The values of one metric with one set of labels.
private protocol Series: AnyObject, Sendable {
    /// Appends the lines of the series. `labels` is formatted as between braces.
    func write(name: String, labels: String, to text: inout String)
}

private final class CounterSeries: Series, CounterHandler {
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) { value.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { value.store(0, ordering: .relaxed) }

    func write(name: String, labels: String, to text: inout String) {
        TextFormat.write(name, labels, "\(value.load(ordering: .relaxed))", to: &text)
    }
}

/// A gauge, or a counter of fractions.
private final class NumberSeries: Series, FloatingPointCounterHandler, MeterHandler, RecorderHandler {
    private let value = Mutex(0.0)

    func set(_ newValue: Int64) { set(Double(newValue)) }
    func set(_ newValue: Double) { value.withLock { $0 = newValue } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func record(_ newValue: Int64) { set(newValue) }
    func record(_ newValue: Double) { set(newValue) }
    func reset() { set(0.0) }

    func write(name: String, labels: String, to text: inout String) {
        TextFormat.write(name, labels, TextFormat.number(value.withLock { $0 }), to: &text)
    }
}

private final class HistogramSeries: Series, RecorderHandler, TimerHandler {
    private let bounds: [Double]
    /// One count per bound, one for values above all bounds, and the sum of all values.
    private let state: Mutex<(counts: [UInt64], sum: Double)>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex((Array(repeating: 0, count: bounds.count + 1), 0))
    }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock {
            $0.counts[bucket] += 1
            $0.sum += value
        }
    }

    /// Prometheus measures durations in seconds.
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }

    func write(name: String, labels: String, to text: inout String) {
        let (counts, sum) = state.withLock { $0 }
        var total: UInt64 = 0
        for (bound, count) in zip(bounds + [.infinity], counts) {
            total += count
            let label = "\(labels)\(labels.isEmpty ? "" : ",")le=\"\(TextFormat.number(bound))\""
            TextFormat.write("\(name)_bucket", label, "\(total)", to: &text)
        }
        TextFormat.write("\(name)_sum", labels, TextFormat.number(sum), to: &text)
        TextFormat.write("\(name)_count", labels, "\(total)", to: &text)
    }
}

// MARK: - Text

/// The rules of Prometheus' text format, version 0.0.4.
enum TextFormat {
    /// Appends one sample.
    static func write(_ name: String, _ labels: String, _ value: String, to text: inout String) {
        text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
    }

    /// The labels sorted by name, formatted as between braces.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.sorted { $0.0 < $1.0 }.map { "\($0)=\"\(escaped($1, also: "\""))\"" }.joined(separator: ",")
    }

    /// Escapes backslashes and line ends, and what else is asked for. By scalars: as characters, `\r\n` is one.
    static func escaped(_ text: String, also extra: Unicode.Scalar? = nil) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar == "\\" || scalar == extra { result += "\\" }
            result += scalar == "\n" ? "\\n" : String(scalar)
        }
    }

    /// A sample value.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value) { return "\(whole)" }
        return "\(value)"
    }
}
