import JuiceDomain
import JuiceEngine
import JuiceMessages

/// How a transaction ends.
enum Decision: String { case commit, abort }

/// What the transaction coordinator knows of a transactional id: its epoch, and its open or last transaction.
///
/// A transaction ends in two phases: the decision, and a marker in each of its partitions. The scheduler decides when each marker
/// is written. Until all are written, the id can neither begin a transaction nor be taken over.
struct SimulatedTransaction {
    /// A broker's answer to a transactional request.
    enum Reply {
        case done
        /// Another producer has taken over the id.
        case fenced
        /// Markers are missing: try again.
        case concurrent
        /// The id has no transaction that could end like this.
        case invalid
    }

    private enum State: Equatable {
        case ended(Decision?)
        case ongoing
        case ending(Decision)
    }

    let id: String
    private(set) var epoch = 0
    private var state = State.ended(nil)
    private var begunAt: Timestamp = 0
    /// The partitions of the transaction; while it ends, those whose marker is missing.
    private(set) var places: Set<Place> = []

    init(id: String) { self.id = id }

    var isOngoing: Bool { state == .ongoing }
    /// Whether markers are missing.
    var isEnding: Bool { if case .ending = state { true } else { false } }

    /// Takes over the id: aborts its open transaction and fences older epochs.
    ///
    /// The epoch rises when the open transaction is aborted, and again once all markers are written. While only markers are missing
    /// it stays the same.
    mutating func takeOver() -> Reply {
        if isEnding { return .concurrent }
        epoch += 1
        state = isOngoing ? .ending(.abort) : .ended(nil)
        return isEnding ? .concurrent : .done
    }

    /// Aborts the transaction if it is open and began before a time.
    mutating func timeOut(begunBefore time: Timestamp = .max) {
        if isOngoing, begunAt < time { _ = takeOver() }
    }

    /// Adds a partition to the open transaction, or to a new one.
    mutating func add(_ place: Place, epoch: Int, at now: Timestamp) -> Reply {
        guard self.epoch == epoch else { return .fenced }
        if isEnding { return .concurrent }
        if !isOngoing { (state, begunAt) = (.ongoing, now) }
        places.insert(place)
        return .done
    }

    /// Whether a partition is part of the open transaction, as brokers ask before they begin to write there.
    func verify(_ place: Place, epoch: Int) -> Bool { self.epoch == epoch && isOngoing && places.contains(place) }

    /// Ends the open transaction. Its markers follow. Brokers cannot distinguish transactions of one epoch.
    mutating func end(_ decision: Decision, epoch: Int) -> Reply {
        guard self.epoch == epoch else { return .fenced }
        switch state {
        case .ongoing:
            state = .ending(decision)
            return .done
        case .ending(let other): return other == decision ? .concurrent : .invalid
        case .ended(let other): return other == decision ? .done : .invalid
        }
    }

    /// Removes one of the partitions whose marker is missing, at random.
    mutating func nextMarker(
        using random: inout SeededGenerator, where isWritable: (Place) -> Bool
    ) -> (place: Place, decision: Decision)? {
        // Sorted, so that runs are repeatable.
        guard case .ending(let decision) = state, let place = random.pick(places.filter(isWritable).sorted()) else { return nil }
        places.remove(place)
        if places.isEmpty { state = .ended(decision) }
        return (place, decision)
    }
}

extension [SimulatedTransaction] {
    /// The numbers of ids whose markers are not all written.
    var ending: [Int] { indices.filter { self[$0].isEnding } }

    mutating func timeOut(begunBefore time: Timestamp = .max) {
        for number in indices { self[number].timeOut(begunBefore: time) }
    }
}

/// The first copy of a transactional request that the client gave up on and resent.
struct LateRequest {
    let text: String
    /// The number of the transactional id.
    let producer: Int
    /// Whether it ends a transaction, and so may end another one than was meant.
    let isEnd: Bool
    let send: (SimulatedCluster) -> SimulatedTransaction.Reply
}

extension SimulatedCluster {
    /// The number of a transactional id. A new id gets the next one.
    func number(of id: String) -> Int {
        if let number = transactions.firstIndex(where: { $0.id == id }) { return number }
        transactions.append(SimulatedTransaction(id: id))
        return transactions.count - 1
    }

    /// At times keeps the first copy of a request. It arrives when the scheduler decides, or never.
    ///
    /// A late Produce is not kept, since its sequence number identifies it.
    func keepLate(
        _ text: String, of producer: Int, isEnd: Bool = false, _ send: @escaping (SimulatedCluster) -> SimulatedTransaction.Reply
    ) {
        guard resending > 0, random.chance(resending) else { return }
        lateRequests.append(LateRequest(text: text, producer: producer, isEnd: isEnd, send: send))
    }

    /// Delivers one of the late requests. The coordinator checks only id and epoch: it cannot distinguish transactions of one
    /// epoch.
    func receiveLateRequest() {
        guard !lateRequests.isEmpty else { return }
        // Requests that may do harm now come first: decisions about an open transaction.
        let harmful = lateRequests.indices.filter { lateRequests[$0].isEnd && transactions[lateRequests[$0].producer].isOngoing }
        guard let index = random.pick(harmful) ?? random.pick(lateRequests.indices) else { return }
        let request = lateRequests.remove(at: index)
        let reply = request.send(self)
        trace?("late \(request.text) of \(transactions[request.producer].id): \(reply)")
    }

    /// Activity of others during a call.
    func interlude() {
        guard isDisorderly() else { return }
        switch random.number(0...2) {
        case 0: receiveLateRequest()
        case 1: writeMarker()
        default: deliver()
        }
    }

    /// Delivers a record in flight.
    func deliver() {
        sending.removeAll { !$0.hasQueue }
        random.pick(sending)?.deliver()
    }

    /// Writes one of the markers that are due.
    func writeMarker() {
        if let producer = random.pick(transactions.ending) { writeMarker(of: producer) }
    }

    /// - Returns: whether one could be written.
    @discardableResult private func writeMarker(of producer: Int) -> Bool {
        let marker = transactions[producer].nextMarker(using: &random) { !self[$0].isLeaderless }
        guard let (place, decision) = marker else { return false }
        self[place].appendMarker(of: producer, decision)
        return true
    }

    func writeAllMarkers() {
        for producer in transactions.ending { while writeMarker(of: producer) {} }
    }

    /// Takes over transactional ids without a failure.
    func fenceAtOnce(_ ids: Set<String>) {
        for producer in ids.sorted().map(number) {
            for _ in 0..<2 where transactions[producer].takeOver() != .done { while writeMarker(of: producer) {} }
        }
    }
}
