import NIOCore
import Synchronization

/// The connections of a server: so many at most, and which of them wait for a request, in order.
final class ConnectionPool: Sendable {
    /// What becomes of a new connection.
    enum Admission {
        case served
        /// There are too many. Those that linger can be told why, and wait until their peers have read it.
        case refused(lingers: Bool)
    }

    private struct Waiting {
        let channel: any Channel
        let since: NIODeadline
    }

    private struct State {
        var served = 0
        var lingering = 0
        /// By ticket; tickets are given in order.
        var waiting: [UInt64: Waiting] = [:]
        var nextTicket: UInt64 = 0
        /// No connection with a ticket before this one waits.
        var firstTicket: UInt64 = 0

        /// The connection that has waited longest, if it has since then.
        mutating func takeFirst(waitingSince limit: NIODeadline) -> (any Channel)? {
            while firstTicket < nextTicket, waiting[firstTicket] == nil { firstTicket += 1 }
            guard let first = waiting[firstTicket], first.since <= limit else { return nil }
            waiting[firstTicket] = nil
            return first.channel
        }
    }

    private let limits: ConnectionLimits
    private let metrics: HTTPMetrics
    private let state = Mutex(State())

    init(_ limits: ConnectionLimits, metrics: HTTPMetrics) {
        (self.limits, self.metrics) = (limits, metrics)
    }

    /// Takes in a new connection. Its end must be told with ``left(_:)``.
    func admit() -> Admission {
        let (admission, idle): (Admission, (any Channel)?) = state.withLock { state in
            var idle: (any Channel)?
            if state.served >= limits.connections {
                idle = state.takeFirst(waitingSince: .now() - TimeAmount(limits.minimumIdleTime))
                guard idle != nil else {
                    let lingers = state.lingering < limits.refusals
                    if lingers { state.lingering += 1 }
                    return (.refused(lingers: lingers), nil)
                }
            }
            state.served += 1
            metrics.note(connections: state.served)
            return (.served, idle)
        }
        if case .refused = admission { metrics.ended(.refused) }
        if let idle {
            metrics.ended(.displaced)
            idle.close(promise: nil)
        }
        return admission
    }

    /// A connection has ended.
    func left(_ admission: Admission) {
        state.withLock { state in
            switch admission {
            case .served:
                state.served -= 1
                metrics.note(connections: state.served)
            case .refused(lingers: true): state.lingering -= 1
            case .refused(lingers: false): break
            }
        }
    }

    /// A connection begins to wait for a request.
    ///
    /// - Returns: what to name when it does no longer.
    func wait(_ channel: any Channel) -> UInt64 {
        state.withLock { state in
            defer { state.nextTicket += 1 }
            state.waiting[state.nextTicket] = Waiting(channel: channel, since: .now())
            return state.nextTicket
        }
    }

    /// A connection waits no longer.
    func stopWaiting(_ ticket: UInt64) {
        state.withLock { $0.waiting[ticket] = nil }
    }
}
