import JuiceEngine
import Kafka
import Logging

/// Drives one worker, step by step, until it is asked to stop or cannot go on.
///
/// Everything of the worker is made, used and let go on the thread that calls ``run()``.
struct WorkerThread: Sendable {
    let configuration: ServiceConfiguration
    let number: Int
    let topics: TopicPreparation.Ready
    let watch: BrokerWatch
    let health: ServiceHealth
    let metrics: WorkerMetrics?
    let stop: StopSignal
    let logger: Logger
    let onEvent: @Sendable (WorkerEvent) -> Void

    /// - Throws: what made the service unable to go on.
    func run() throws(ServiceError) {
        var logger = logger
        logger[metadataKey: "worker"] = "\(number)"
        let log: KafkaCommandLog
        do throws(KafkaError) {
            log = try KafkaCommandLog(
                configuration: configuration,
                worker: number,
                topics: topics,
                watch: watch,
                metrics: metrics,
                logger: logger
            )
        } catch {
            throw .badConfiguration(error.description)
        }

        let tracer = BatchTracer.installed(worker: number, topics: configuration.topics)
        var events = WorkerLog(logger: logger, configuration: configuration)
        var worker = Worker(
            log: ObservedLog(log, metrics: metrics, tracer: tracer),
            menu: configuration.menu,
            language: configuration.language,
            partitionCount: topics.partitionCount,
            window: configuration.duplicateWindow,
            maxBatch: configuration.maxBatch
        ) { event in
            events.note(event)
            health.note(event, ofWorker: number)
            metrics?.note(event)
            onEvent(event)
        }
        while true {
            if stop.age != nil { worker.requestStop() }
            let step = worker.step()
            health.stepped(worker: number)
            metrics?.note(worker.held)
            switch step {
            case .worked, .idle: continue
            case .backOff(let attempt): wait(attempt)
            case .stopped: return
            case .failed(let error): throw .failed(error.message)
            }
        }
    }

    private func wait(_ attempt: Int) {
        // On the way out it is short, so that the last transaction has as many attempts as time allows.
        stop.wait(for: Backoff.pause(after: attempt), onceRequested: .milliseconds(20))
    }
}

/// Why the service ended by itself.
public enum ServiceError: Error, Sendable, CustomStringConvertible {
    /// A setting is refused; nothing was started.
    case badConfiguration(String)
    /// The topics are not fit for the service.
    case unfitTopics([TopicCheck.Problem])
    /// It could not go on.
    case failed(String)

    /// What happened, and what mends it where that is known.
    public var description: String {
        switch self {
        case .badConfiguration(let reason), .failed(let reason): reason
        case .unfitTopics(let problems): problems.map(\.description).joined(separator: "\n")
        }
    }
}
