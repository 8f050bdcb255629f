import CRdKafka
import Foundation
import Logging
import Synchronization

/// What a client reports besides the results of its calls.
///
/// The closures run on librdkafka's threads or inside a polling call. They must not block or call the client.
public struct ClientHooks: Sendable {
    /// Where librdkafka's own log lines go.
    public var logger: Logger
    /// The most severe level for such a line. Much of what librdkafka logs as an error heals by itself or is returned by the next
    /// call; an owner that reports errors itself lowers this.
    public var logCeiling: Logger.Level
    /// Called for errors in the background, for example that all brokers are down. Most heal by themselves; a fatal one is also
    /// thrown by the next call.
    public var onError: (@Sendable (KafkaError) -> Void)?

    /// Hooks that only log, unless a closure is given.
    public init(logger: Logger, logCeiling: Logger.Level = .critical, onError: (@Sendable (KafkaError) -> Void)? = nil) {
        (self.logger, self.logCeiling, self.onError) = (logger, logCeiling, onError)
    }
}

/// The only owner of an `rd_kafka_t`. Its destruction may take for ever, so it happens on a thread of its own: see ``ClientEnd``.
package final class ClientHandle {
    let pointer: OpaquePointer
    /// librdkafka's callbacks reach it through the opaque pointer, so it must outlive `pointer`.
    let context: ClientContext
    private let isConsumer: Bool
    private let patience: Duration
    private let ends: DispatchGroup?

    /// - Parameters:
    ///   - patience: how long to wait for the destruction.
    ///   - ends: is left after the destruction.
    ///   - prepare: sets what only some clients need, such as a rebalance callback.
    init(
        _ type: rd_kafka_type_t, configuration: KafkaConfiguration, context: ClientContext,
        patience: Duration = ClientEnd.patience, ends: DispatchGroup? = nil, prepare: (OpaquePointer) -> Void = { _ in }
    ) throws(KafkaError) {
        var configuration = configuration.completed(for: type)
        // librdkafka queues statistics even for a client without a callback, until it is polled.
        configuration["statistics.interval.ms"] = "0"
        let handle = try configuration.makeHandle()
        rd_kafka_conf_set_opaque(handle, Unmanaged.passUnretained(context).toOpaque())
        Self.setCallbacks(handle)
        prepare(handle)

        var reason = ErrorText()
        guard let pointer = reason.withBuffer({ rd_kafka_new(type, handle, $0, $1) }) else {
            // rd_kafka_new takes ownership of the configuration only when it succeeds.
            rd_kafka_conf_destroy(handle)
            throw .refusedConfiguration(configuration.hidingValues(in: reason.text))
        }
        context.explainer.clientCertificateEnd.withLock { $0 = ClientCertificate.end(for: configuration) }
        (self.pointer, self.context, self.patience, self.ends) = (pointer, context, patience, ends)
        isConsumer = type == RD_KAFKA_CONSUMER
    }

    deinit {
        nonisolated(unsafe) let pointer = pointer
        ClientEnd.run(patience: patience, group: ends) { [context, isConsumer] in
            if !isConsumer {
                // Purges records that are queued or unconfirmed, and begins to abort an open transaction. librdkafka (up to 2.16)
                // requires both before a producer is destroyed: no request may be in progress by then (issue 4330).
                rd_kafka_purge(pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
                rd_kafka_error_destroy(rd_kafka_abort_transaction(pointer, 100))
            }
            // A consumer that was not closed does not leave its group here: no rebalance is expected any more.
            rd_kafka_destroy_flags(pointer, isConsumer ? RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE : 0)
            withExtendedLifetime(context) {}
        }
    }

    /// Serves callbacks, waiting up to `timeout` for the first. Another thread may drop its reference to the handle meanwhile:
    /// Swift does not count a C pointer as one, so without the explicit lifetime the client could be destroyed during the call.
    func poll(timeout: Duration) {
        _ = withExtendedLifetime(self) { rd_kafka_poll(pointer, timeout.milliseconds) }
    }

    /// How many connections have closed or could not be made. A closed connection is counted before a request that was in progress
    /// on it is sent again.
    var closedConnections: Int { context.closedConnections.load(ordering: .acquiring) }

    /// The error, with a clearer message if there is one.
    func explained(_ error: KafkaError) -> KafkaError { context.explainer.explained(error) }

    /// The error that put the client beyond recovery, if any.
    var fatalError: KafkaError? {
        guard rd_kafka_fatal_error(pointer, nil, 0) != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        var reason = ErrorText()
        let code = reason.withBuffer { rd_kafka_fatal_error(pointer, $0, $1) }
        return KafkaError(code: .init(code), message: reason.text, isFatal: true)
    }

    private static func setCallbacks(_ handle: OpaquePointer) {
        rd_kafka_conf_set_log_cb(handle) { client, level, facility, line in
            guard let client, let context = ClientContext.of(client), let facility, let line else { return }
            context.log(level: level, facility: String(cString: facility), line: String(cString: line))
        }
        rd_kafka_conf_set_error_cb(handle) { client, code, reason, _ in
            guard let client, let context = ClientContext.of(client),
                let error = KafkaError(rd_kafka_resp_err_t(code), message: reason.map { String(cString: $0) })
            else { return }
            context.hooks.onError?(context.explainer.explained(error))
        }
        rd_kafka_conf_set_closesocket_cb(handle) { socket, opaque in
            if let opaque { ClientContext.of(opaque).closedConnections.add(1, ordering: .releasing) }
            return close(socket)
        }
        // Observes why OpenSSL rejects a broker's certificate, without changing its verdict.
        var value = ErrorText()
        var size = 512
        _ = value.withBuffer { buffer, _ in rd_kafka_conf_get(handle, "enable.ssl.certificate.verification", buffer, &size) }
        guard value.text != "false" else { return }
        rd_kafka_conf_set_ssl_cert_verify_cb(handle) { client, _, _, verdict, _, _, _, _, _, _ in
            guard let verdict else { return 0 }
            if let client { ClientContext.of(client)?.explainer.observe(verdict: verdict.pointee) }
            return verdict.pointee == 0 ? 1 : 0
        }
    }
}

/// The context of a client's callbacks, behind librdkafka's opaque pointer. Subclasses lock what they add, hence the unchecked
/// `Sendable`.
class ClientContext: @unchecked Sendable {
    fileprivate let hooks: ClientHooks
    let explainer = ErrorExplainer()
    fileprivate let closedConnections = Atomic(0)

    init(_ hooks: ClientHooks) { self.hooks = hooks }

    static func of(_ client: OpaquePointer) -> ClientContext? { rd_kafka_opaque(client).map(of) }

    fileprivate static func of(_ opaque: UnsafeMutableRawPointer) -> ClientContext {
        Unmanaged<ClientContext>.fromOpaque(opaque).takeUnretainedValue()
    }

    fileprivate func log(level: Int32, facility: String, line: String) {
        // The error callback reports it only when polled, which a call that waits for a broker may delay for seconds.
        if let failure = explainer.observe(facility: facility, line: line) { hooks.onError?(failure) }
        hooks.logger.log(
            level: min(Self.level(syslog: level, line: line), hooks.logCeiling), "\(KafkaConfiguration.hidingSecret(in: line))",
            metadata: ["librdkafka": .string(facility)])
    }

    /// The severity of a line that librdkafka logs at a syslog level. A user's properties go to all clients, so a producer that
    /// ignores a consumer's property, or the reverse, is not worth a warning.
    static func level(syslog: Int32, line: String) -> Logger.Level {
        let kinds = ["producer", "consumer"]
        if kinds.contains(where: { line.hasSuffix("property and will be ignored by this \($0) instance") }) { return .debug }
        let levels: [Logger.Level] = [.critical, .critical, .critical, .error, .warning, .notice, .info]
        return levels.indices.contains(Int(syslog)) ? levels[Int(syslog)] : .debug
    }
}

/// Ends clients on threads of their own, and waits for that only briefly.
///
/// `rd_kafka_destroy` and `rd_kafka_consumer_close` wait for brokers, and may never return. A thread that is stuck in one is left
/// behind, with everything that the call uses.
enum ClientEnd {
    static let patience = Duration.seconds(1)
    /// How long to wait for further clients once one has taken longer, so that a process with many clients can stop in time.
    private static let patienceAfterHang = Duration.milliseconds(100)
    private static let hangWindow = Duration.seconds(10)

    private static let hungAt = Mutex<ContinuousClock.Instant?>(nil)

    /// Makes calls that end a client, and waits for them for up to `patience`. Leaves the group when they have returned.
    static func run(patience: Duration = patience, group: DispatchGroup? = nil, _ calls: @escaping @Sendable () -> Void) {
        let ends = DispatchGroup()
        ends.enter()
        // Frees what the calls retain before it signals the end. Only the new thread uses this variable.
        nonisolated(unsafe) var work: (() -> Void)? = calls
        group?.enter()
        DedicatedThread.start("client's end") {
            work?()
            work = nil
            ends.leave()
            group?.leave()
        }
        let isHanging = hungAt.withLock { $0.map { .now - $0 < hangWindow } ?? false }
        let limit = isHanging ? min(patience, patienceAfterHang) : patience
        guard limit > .zero, !ends.hasEnded(within: limit) else { return }
        hungAt.withLock { $0 = .now }
    }
}

extension DispatchGroup {
    /// Waits until every entry has been left, but no longer than `timeout`. Returns whether that happened.
    ///
    /// A semaphore would not do: on Linux it waits by the time of day (findings/dispatch-semaphore-clock.sh), so it waits an hour
    /// longer if the clock is set back by an hour.
    @discardableResult package func hasEnded(within timeout: Duration) -> Bool {
        wait(timeout: .now() + .milliseconds(Int(timeout.milliseconds))) == .success
    }
}

extension Duration {
    /// Whole milliseconds for librdkafka, rounded up so that a short wait is not a busy loop.
    package var milliseconds: Int32 {
        let (seconds, attoseconds) = components
        return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

struct ErrorText {
    private var bytes = [CChar](repeating: 0, count: 512)

    mutating func withBuffer<Result>(_ body: (UnsafeMutablePointer<CChar>?, Int) -> Result) -> Result {
        bytes.withUnsafeMutableBufferPointer { body($0.baseAddress, $0.count) }
    }

    var text: String { String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) }
}
