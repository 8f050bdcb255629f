import CoreMetrics
import Synchronization

/// A swift-metrics backend that keeps all metrics in memory and exports them in Prometheus' text format.
///
/// A metric's label becomes its name, so follow Prometheus' naming rules, units included. Counters stay counters, meters and
/// recorders become gauges, and timers become histograms in seconds. Texts are not escaped: use no quotes, backslashes or line
/// ends.
package final class PrometheusRegistry: MetricsFactory {
    private struct State {
        /// The series by name, and then by formatted labels.
        var families: [String: [String: Series]] = [:]
        var collectors: [@Sendable () -> Void] = []
    }

    /// The upper bounds of a histogram's buckets, in seconds, without infinity.
    private static let buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

    private let help: [String: String]
    private let state = Mutex(State())

    /// - Parameter help: the names of metrics, and what each counts or measures, in one sentence. swift-metrics does not know it.
    package init(help: [(name: String, text: String)] = []) { self.help = Dictionary(help.map { ($0, $1) }) { first, _ in first } }

    /// Calls `collector` before each ``text()``, for values that are sampled rather than counted.
    package func onCollect(_ collector: @escaping @Sendable () -> Void) { state.withLock { $0.collectors.append(collector) } }

    /// All metrics in Prometheus' text format, version 0.0.4, sorted by name.
    package func text() -> String {
        for collector in state.withLock({ $0.collectors }) { collector() }
        var text = ""
        for (name, family) in state.withLock({ $0.families }).sorted(by: { $0.key < $1.key }) {
            guard let kind = family.values.first?.kind else { continue }
            text += TextFormat.head(of: name, kind.rawValue, help: help[name])
            for (labels, series) in family.sorted(by: { $0.key < $1.key }) { series.write(name: name, labels: labels, to: &text) }
        }
        return text
    }

    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The series with these labels, made if needed.
    private func series(_ kind: Series.Kind, _ name: String, _ dimensions: [(String, String)]) -> Series {
        let labels = dimensions.sorted { $0.0 < $1.0 }.map { "\($0)=\"\($1)\"" }.joined(separator: ",")
        return state.withLock { state in
            if let series = state.families[name]?[labels], series.kind == kind { return series }
            let series = Series(kind, bounds: kind == .histogram ? Self.buckets : [])
            state.families[name, default: [:]][labels] = series
            return series
        }
    }

    private func remove(_ handler: AnyObject) {
        state.withLock { state in state.families = state.families.mapValues { $0.filter { $0.value !== handler } } }
    }

    // MARK: - MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(.counter, label, dimensions)
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        series(.gauge, label, dimensions)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(.histogram, label, dimensions)
    }

    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}

/// The values of one metric with one set of labels.
private final class Series: CounterHandler, RecorderHandler, TimerHandler {
    /// As the text format names it.
    enum Kind: String { case counter, gauge, histogram }

    let kind: Kind
    private let bounds: [Double]
    /// The value, or a histogram's sum; and its counts, one for each bound and one for values above all bounds.
    private let state: Mutex<(value: Double, counts: [UInt64])>

    init(_ kind: Kind, bounds: [Double]) {
        (self.kind, self.bounds) = (kind, bounds)
        state = Mutex((0, Array(repeating: 0, count: bounds.count + 1)))
    }

    func increment(by amount: Int64) { state.withLock { $0.value += Double(amount) } }
    func reset() { record(0.0) }
    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) { state.withLock { $0.value = value } }

    func recordNanoseconds(_ duration: Int64) {
        let seconds = Double(duration) / 1_000_000_000
        let bucket = bounds.firstIndex { seconds <= $0 } ?? bounds.count
        state.withLock {
            $0.counts[bucket] += 1
            $0.value += seconds
        }
    }

    /// Appends the lines of the series. `labels` is formatted as between braces.
    func write(name: String, labels: String, to text: inout String) {
        let (value, counts) = state.withLock { $0 }
        guard kind == .histogram else { return text += TextFormat.sample(name, labels, value) }
        var total: UInt64 = 0
        for (bound, count) in zip(bounds + [.infinity], counts) {
            total += count
            let label = "\(labels)\(labels.isEmpty ? "" : ",")le=\"\(TextFormat.number(bound))\""
            text += TextFormat.sample("\(name)_bucket", label, Double(total))
        }
        text += TextFormat.sample("\(name)_sum", labels, value) + TextFormat.sample("\(name)_count", labels, Double(total))
    }
}

enum TextFormat {
    /// The lines before the samples of a metric.
    static func head(of name: String, _ kind: String, help: String?) -> String {
        (help.map { "# HELP \(name) \($0)\n" } ?? "") + "# TYPE \(name) \(kind)\n"
    }

    static func sample(_ name: String, _ labels: String, _ value: Double) -> String {
        "\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(number(value))\n"
    }

    static func number(_ value: Double) -> String {
        value == .infinity ? "+Inf" : Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }
}
