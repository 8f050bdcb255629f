/// The progress of a process at one moment.
struct ThroughputSample {
    var time = ContinuousClock.now
    let done: Int
    let processorTime: Duration?
    var brokerTime: Duration?
}

/// How fast a process handled orders, and at what cost. Values that the system does not report are nil.
struct Throughput {
    let ordersPerSecond: Double
    /// Processor time of the process, and of the broker.
    let microsecondsPerOrder, brokerMicrosecondsPerOrder: Double?
    /// Resident memory at the end.
    let megabytes: Double?

    /// The throughput between two samples; nil if there was no progress.
    init?(from start: ThroughputSample, to end: ThroughputSample, residentBytes: Double? = nil) {
        let orders = Double(end.done - start.done)
        let seconds = (end.time - start.time) / .seconds(1)
        guard orders > 0, seconds > 0 else { return nil }
        ordersPerSecond = orders / seconds
        func cost(_ start: Duration?, _ end: Duration?) -> Double? {
            start.flatMap { start in end.map { ($0 - start) / .microseconds(1) / orders } }
        }
        microsecondsPerOrder = cost(start.processorTime, end.processorTime)
        brokerMicrosecondsPerOrder = cost(start.brokerTime, end.brokerTime)
        megabytes = residentBytes.map { $0 / 1e6 }
    }

    var text: String { "\(Figure.text(ordersPerSecond)) orders/s, \(Figure.text(microsecondsPerOrder)) µs each" }
}
