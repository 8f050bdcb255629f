import CoreMetrics
import Synchronization

/// A swift-metrics backend that keeps all metrics in memory and exports them in Prometheus' text format.
///
/// A metric's label becomes its name, so follow Prometheus' naming rules, units included. Counters stay counters, meters and
/// recorders become gauges, and timers become histograms in seconds.
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

    private struct State {
        /// The series by name, and then by formatted labels.
        var families: [String: [String: any Series]] = [:]
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
        var text = ""
        for (name, family) in state.withLock({ $0.families }).sorted(by: { $0.key < $1.key }) {
            guard let kind = family.values.first?.kind else { continue }
            text += TextFormat.head(of: name, kind, help: descriptions[name]?.help)
            for (labels, series) in family.sorted(by: { $0.key < $1.key }) { series.write(name: name, labels: labels, to: &text) }
        }
        return text
    }

    /// The media type of ``text()``.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The series with these labels, made if needed.
    private func series<Handler: Series>(_ name: String, _ dimensions: [(String, String)], make: () -> Handler) -> Handler {
        let labels = TextFormat.labels(dimensions)
        return state.withLock { state in
            if let series = state.families[name]?[labels] as? Handler { return series }
            let series = make()
            state.families[name, default: [:]][labels] = series
            return series
        }
    }

    private func remove(_ handler: AnyObject) {
        state.withLock { state in state.families = state.families.mapValues { $0.filter { $0.value !== handler } } }
    }

    // MARK: - MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions) { CounterSeries() }
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        series(label, dimensions) { GaugeSeries() }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions) { HistogramSeries(bounds: descriptions[label]?.buckets ?? Self.usualBuckets) }
    }

    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}

// MARK: - Series

/// The values of one metric with one set of labels.
private protocol Series: AnyObject, Sendable {
    /// The type as the text format names it.
    var kind: String { get }

    /// Appends the lines of the series. `labels` is formatted as between braces.
    func write(name: String, labels: String, to text: inout String)
}

private final class CounterSeries: Series, CounterHandler {
    let kind = "counter"
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) { value.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { value.store(0, ordering: .relaxed) }

    func write(name: String, labels: String, to text: inout String) {
        text += TextFormat.sample(name, labels, "\(value.load(ordering: .relaxed))")
    }
}

private final class GaugeSeries: Series, RecorderHandler {
    let kind = "gauge"
    private let value = Mutex(0.0)

    func record(_ newValue: Int64) { record(Double(newValue)) }
    func record(_ newValue: Double) { value.withLock { $0 = newValue } }

    func write(name: String, labels: String, to text: inout String) {
        text += TextFormat.sample(name, labels, TextFormat.number(value.withLock { $0 }))
    }
}

private final class HistogramSeries: Series, TimerHandler {
    let kind = "histogram"
    private let bounds: [Double]
    /// One count per bound, one for values above all bounds, and the sum of all values.
    private let state: Mutex<(counts: [UInt64], sum: Double)>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex((Array(repeating: 0, count: bounds.count + 1), 0))
    }

    func recordNanoseconds(_ duration: Int64) {
        let seconds = Double(duration) / 1_000_000_000
        let bucket = bounds.firstIndex { seconds <= $0 } ?? bounds.count
        state.withLock {
            $0.counts[bucket] += 1
            $0.sum += seconds
        }
    }

    func write(name: String, labels: String, to text: inout String) {
        let (counts, sum) = state.withLock { $0 }
        var total: UInt64 = 0
        for (bound, count) in zip(bounds + [.infinity], counts) {
            total += count
            let label = "\(labels)\(labels.isEmpty ? "" : ",")le=\"\(TextFormat.number(bound))\""
            text += TextFormat.sample("\(name)_bucket", label, "\(total)")
        }
        text += TextFormat.sample("\(name)_sum", labels, TextFormat.number(sum))
        text += TextFormat.sample("\(name)_count", labels, "\(total)")
    }
}

// MARK: - Text

/// The rules of Prometheus' text format, version 0.0.4.
enum TextFormat {
    /// The lines before the samples of a metric.
    static func head(of name: String, _ kind: String, help: String?) -> String {
        (help.map { "# HELP \(name) \(escaped($0))\n" } ?? "") + "# TYPE \(name) \(kind)\n"
    }

    /// The line of one sample.
    static func sample(_ name: String, _ labels: String, _ value: String) -> String {
        labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
    }

    /// The labels sorted by name, formatted as between braces.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.sorted { $0.0 < $1.0 }.map { "\($0)=\"\(escaped($1, also: "\""))\"" }.joined(separator: ",")
    }

    /// Escapes backslashes and line ends, and what else is asked for. By scalars: as characters, `\r\n` is one.
    private static func escaped(_ text: String, also extra: Unicode.Scalar? = nil) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar == "\\" || scalar == extra { result += "\\" }
            result += scalar == "\n" ? "\\n" : String(scalar)
        }
    }

    /// A sample value.
    static func number(_ value: Double) -> String {
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value) { return "\(whole)" }
        return value.isNaN ? "NaN" : "\(value)"
    }
}
