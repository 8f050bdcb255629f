import NIOCore
import Synchronization

/// Counts a server's connections against the limits, and orders the idle ones by how long they have waited for a request.
final class ConnectionPool: Sendable {
    /// The decision about a new connection.
    enum Admission {
        case served
        /// There are too many connections. A lingering one stays open until its client has read the response.
        case refused(lingers: Bool)
    }

    private struct Waiting {
        let channel: any Channel
        let since: NIODeadline
    }

    private struct State {
        var served = 0
        var lingering = 0
        /// By ticket. Tickets are issued in ascending order.
        var waiting: [UInt64: Waiting] = [:]
        var nextTicket: UInt64 = 0
        /// No waiting connection has a lower ticket.
        var firstTicket: UInt64 = 0

        /// Removes and returns the connection that has waited longest, if it has waited since `limit`.
        mutating func removeFirst(waitingSince limit: NIODeadline) -> (any Channel)? {
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

    /// Admits or refuses a new connection. Call ``left(_:)`` when it closes.
    func admit() -> Admission {
        let (admission, idle): (Admission, (any Channel)?) = state.withLock { state in
            var idle: (any Channel)?
            if state.served >= limits.connections {
                idle = state.removeFirst(waitingSince: .now() - TimeAmount(limits.minimumIdleTime))
                guard idle != nil else {
                    let lingers = state.lingering < limits.refusals
                    if lingers { state.lingering += 1 }
                    return (.refused(lingers: lingers), nil)
                }
            }
            state.served += 1
            metrics.record(openConnections: state.served)
            return (.served, idle)
        }
        if case .refused = admission { metrics.ended(.refused) }
        if let idle {
            metrics.ended(.displaced)
            idle.close(promise: nil)
        }
        return admission
    }

    /// Releases a closed connection.
    func left(_ admission: Admission) {
        state.withLock { state in
            switch admission {
            case .served:
                state.served -= 1
                metrics.record(openConnections: state.served)
            case .refused(lingers: true): state.lingering -= 1
            case .refused(lingers: false): break
            }
        }
    }

    /// Adds a connection to those that wait for a request.
    ///
    /// - Returns: a ticket for ``stopWaiting(_:)``.
    func wait(_ channel: any Channel) -> UInt64 {
        state.withLock { state in
            defer { state.nextTicket += 1 }
            state.waiting[state.nextTicket] = Waiting(channel: channel, since: .now())
            return state.nextTicket
        }
    }

    /// Removes a connection from those that wait for a request.
    func stopWaiting(_ ticket: UInt64) { state.withLock { $0.waiting[ticket] = nil } }
}
