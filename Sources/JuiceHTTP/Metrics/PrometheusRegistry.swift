import CoreMetrics
import Synchronization

/// A swift-metrics backend that keeps all metrics in memory and exports them in Prometheus' text format.
///
/// A metric's label becomes its name, so follow Prometheus' naming rules, units included; invalid characters become `_`.
/// Counters stay counters, meters and gauges become gauges, and recorders and timers become histograms, timers in seconds.
///
/// ```swift
/// let registry = PrometheusRegistry(descriptions: [.init("juice_orders_total", help: "Orders answered.")])
/// Counter(label: "juice_orders_total", factory: registry).increment()
/// print(registry.text())
/// ```
public final class PrometheusRegistry: MetricsFactory {
    /// What swift-metrics does not know about a metric.
    public struct Description: Sendable {
        /// The metric's name.
        public let name: String
        /// What it counts or measures, in one sentence.
        public let help: String
        /// The upper bounds of a histogram's buckets, ascending, without infinity; nil means ``PrometheusRegistry/usualBuckets``.
        public let buckets: [Double]?

        /// Describes the metric with this name.
        public init(_ name: String, help: String, buckets: [Double]? = nil) {
            self.name = name
            self.help = help
            self.buckets = buckets
        }
    }

    /// Bucket bounds for durations in seconds, from 1 ms to 10 s.
    public static let usualBuckets: [Double] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private let descriptions: [String: Description]
    private let families = Mutex<[String: Family]>([:])
    private let collectors = Mutex<[@Sendable () -> Void]>([])

    /// Creates an empty registry.
    public init(descriptions: [Description] = []) {
        self.descriptions = Dictionary(descriptions.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Calls `collector` before each ``text()``, for values that are sampled rather than counted.
    public func onCollect(_ collector: @escaping @Sendable () -> Void) {
        collectors.withLock { $0.append(collector) }
    }

    /// All metrics in Prometheus' text format, version 0.0.4, sorted by name.
    public func text() -> String {
        for collector in collectors.withLock({ $0 }) { collector() }
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) where !family.series.isEmpty {
            if let help = descriptions[name]?.help { text += "# HELP \(name) \(TextFormat.escaped(help, in: .help))\n" }
            text += "# TYPE \(name) \(family.kind.rawValue)\n"
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                series.write(name: name, labels: labels, to: &text)
            }
        }
        return text
    }

    /// The media type of ``text()``.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Returns the series with these labels, and creates it if needed.
    ///
    /// A name has one kind. A series of another kind works, but is not exported.
    private func series<Handler: Series>(
        _ label: String,
        _ dimensions: [(String, String)],
        _ kind: Kind,
        make: (String) -> Handler
    ) -> Handler {
        let name = TextFormat.name(label)
        let labels = TextFormat.labels(dimensions)
        return families.withLock { families in
            var family = families[name] ?? Family(kind: kind)
            if let series = family.series[labels] as? Handler, family.kind == kind { return series }
            let series = make(name)
            guard family.kind == kind else { return series }
            family.series[labels] = series
            families[name] = family
            return series
        }
    }

    private func remove(_ handler: AnyObject) {
        families.withLock { families in
            for (name, family) in families {
                guard let labels = family.series.first(where: { $0.value === handler })?.key else { continue }
                families[name]?.series[labels] = nil
                return
            }
        }
    }
}

// MARK: - MetricsFactory

extension PrometheusRegistry {
    /// Creates a counter.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, .counter) { _ in CounterSeries() }
    }

    /// Creates a counter of floating-point amounts.
    public func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        series(label, dimensions, .counter) { _ in FloatingPointCounterSeries() }
    }

    /// Creates a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions, .gauge) { _ in GaugeSeries() }
    }

    /// Creates a histogram if values are aggregated, else a gauge.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return series(label, dimensions, .gauge) { _ in GaugeSeries() } }
        return histogram(label, dimensions)
    }

    /// Creates a histogram in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions)
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)]) -> HistogramSeries {
        series(label, dimensions, .histogram) { name in HistogramSeries(bounds: descriptions[name]?.buckets ?? Self.usualBuckets) }
    }

    /// Stops exporting a counter.
    public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    /// Stops exporting a counter.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    /// Stops exporting a gauge.
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    /// Stops exporting a histogram or gauge.
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    /// Stops exporting a histogram.
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}

/// All series with one name.
private struct Family {
    let kind: Kind
    /// By formatted labels.
    var series: [String: any Series] = [:]
}

/// Prometheus' metric type.
private enum Kind: String {
    case counter
    case gauge
    case histogram
}
