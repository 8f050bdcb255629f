import CoreMetrics
import Synchronization

/// The values of one metric with one set of labels.
protocol Series: AnyObject, Sendable {
    /// Appends the lines of the series. `labels` is formatted as between braces.
    func write(name: String, labels: String, to text: inout String)
}

final class CounterSeries: Series, CounterHandler {
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) { value.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { value.store(0, ordering: .relaxed) }

    func write(name: String, labels: String, to text: inout String) {
        TextFormat.write(name, labels, "\(value.load(ordering: .relaxed))", to: &text)
    }
}

final class FloatingPointCounterSeries: Series, FloatingPointCounterHandler {
    private let value = Mutex(0.0)

    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func reset() { value.withLock { $0 = 0 } }

    func write(name: String, labels: String, to text: inout String) {
        TextFormat.write(name, labels, TextFormat.number(value.withLock { $0 }), to: &text)
    }
}

final class GaugeSeries: Series, MeterHandler, RecorderHandler {
    private let value = Mutex(0.0)

    func set(_ newValue: Int64) { set(Double(newValue)) }
    func set(_ newValue: Double) { value.withLock { $0 = newValue } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    func record(_ newValue: Int64) { set(newValue) }
    func record(_ newValue: Double) { set(newValue) }

    func write(name: String, labels: String, to text: inout String) {
        TextFormat.write(name, labels, TextFormat.number(value.withLock { $0 }), to: &text)
    }
}

final class HistogramSeries: Series, RecorderHandler, TimerHandler {
    private struct State {
        /// One count per bound, and one for values above all bounds.
        var counts: [UInt64]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
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
        let state = state.withLock { $0 }
        var count: UInt64 = 0
        let separator = labels.isEmpty ? "" : ","
        for (bound, inBucket) in zip(bounds + [.infinity], state.counts) {
            count += inBucket
            let label = "\(labels)\(separator)le=\"\(TextFormat.number(bound))\""
            TextFormat.write("\(name)_bucket", label, "\(count)", to: &text)
        }
        TextFormat.write("\(name)_sum", labels, TextFormat.number(state.sum), to: &text)
        TextFormat.write("\(name)_count", labels, "\(count)", to: &text)
    }
}
