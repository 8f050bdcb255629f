import JuiceEngine
import Kafka
import Logging

/// Drives one worker step by step until it is asked to stop or cannot continue.
///
/// The worker and everything it owns are created, used and released on the thread that calls ``run()``.
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

    /// - Throws: ``ServiceError`` when the worker cannot start or continue.
    func run() throws(ServiceError) {
        var logger = logger
        logger[metadataKey: "worker"] = "\(number)"
        let log: KafkaCommandLog
        do throws(KafkaError) {
            log = try KafkaCommandLog(
                configuration: configuration, worker: number, topics: topics, watch: watch, metrics: metrics, logger: logger)
        } catch { throw .badConfiguration(error.description) }

        let tracer = BatchTracer.installed(worker: number, topics: configuration.topics)
        var events = WorkerLogger(logger: logger, configuration: configuration)
        var worker = Worker(
            log: ObservedLog(log, metrics: metrics, tracer: tracer),
            settings: WorkerSettings(
                menu: configuration.menu, language: configuration.language, partitionCount: topics.partitionCount,
                group: configuration.group, instance: configuration.instanceID, window: configuration.duplicateWindow,
                answerBytes: configuration.answerBytes, maxBatch: configuration.maxBatch, noteInterval: topics.noteInterval)
        ) { event in
            events.log(event)
            health.record(event, ofWorker: number)
            metrics?.record(event)
            onEvent(event)
        }
        while true {
            if stop.isRequested { worker.requestStop() }
            let step = worker.step()
            health.stepped(worker: number)
            metrics?.record(worker.held)
            switch step {
            case .worked, .idle: continue
            case .backOff(let attempt): wait(attempt)
            case .stopped: return
            case .failed(let error): throw .failed(error.message)
            }
        }
    }

    private func wait(_ attempt: Int) {
        // Pauses are short while stopping, so that the last transaction gets as many attempts as time allows.
        stop.wait(for: Backoff.pause(after: attempt), onceRequested: .milliseconds(20))
    }
}

/// Why the service could not start or continue.
public enum ServiceError: Error, Sendable, CustomStringConvertible {
    /// A setting is invalid; nothing was started.
    case badConfiguration(String)
    /// The topics cannot be used as they are.
    case unfitTopics([TopicCheck.Problem])
    /// A worker failed for good.
    case failed(String)

    /// What happened and, if known, how to fix it.
    public var description: String {
        switch self {
        case .badConfiguration(let reason), .failed(let reason): reason
        case .unfitTopics(let problems): problems.map(\.description).joined(separator: "\n")
        }
    }
}
