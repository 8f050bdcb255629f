/// How fast a process went through orders, and what that took.
struct Throughput: Encodable, Equatable {
    let ordersPerSecond: Double
    /// Processor time of the process, in microseconds; nil where this system does not tell.
    let cpuMicrosecondsPerOrder: Double?
    /// Resident at the end; nil where this system does not tell.
    let residentBytes: Double?
}

/// A process and how far it was at one moment.
struct ThroughputSample {
    let time: ContinuousClock.Instant
    let done: Int
    let processorTime: Duration?

    /// What happened since an earlier sample; nil when nothing did.
    func since(_ start: ThroughputSample, residentBytes: Int?) -> Throughput? {
        let orders = Double(done - start.done)
        let seconds = (time - start.time) / .seconds(1)
        guard orders > 0, seconds > 0 else { return nil }
        var cpu: Double?
        if let end = processorTime, let start = start.processorTime {
            cpu = (end - start) / .microseconds(1) / orders
        }
        return Throughput(
            ordersPerSecond: orders / seconds,
            cpuMicrosecondsPerOrder: cpu,
            residentBytes: residentBytes.map(Double.init)
        )
    }
}
