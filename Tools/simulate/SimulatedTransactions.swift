import JuiceDomain
import JuiceEngine

/// The transaction coordinator: epochs of transactional ids, open and decided transactions.
///
/// A transaction ends in two phases: the decision, and a marker in each of its partitions. Each marker comes when the scheduler
/// decides. Until all are written, the id can neither begin a transaction nor be taken over.
struct SimulatedTransactions {
    /// A broker's answer to a transactional request.
    enum Reply {
        case done
        /// Somebody else has taken over the id.
        case fenced
        /// Markers are missing: ask again.
        case concurrent
        /// There is nothing that could end like this.
        case invalid
    }

    private enum State: Equatable {
        case ended(Decision?)
        case ongoing
        case ending(Decision)
    }

    private struct Coordination {
        var epoch = 0
        var state = State.ended(nil)
        var begunAt: Timestamp = 0
        /// The partitions of the transaction, of which those are left whose marker is missing.
        var places: Set<Place> = []
    }

    private var coordinations: [Coordination] = []
    private var numbers: [String: Int] = [:]
    private var names: [String] = []

    /// The number of a transactional id, under which it is known from then on.
    mutating func number(of id: String) -> Int {
        if let number = numbers[id] { return number }
        numbers[id] = names.count
        names.append(id)
        coordinations.append(Coordination())
        return names.count - 1
    }

    func id(of number: Int) -> String { names[number] }

    var all: Range<Int> { coordinations.indices }

    /// Those whose markers are not all written.
    var ending: [Int] { all.filter(isEnding) }

    func isEnding(_ number: Int) -> Bool {
        if case .ending = coordinations[number].state { true } else { false }
    }

    func isOngoing(_ number: Int) -> Bool { coordinations[number].state == .ongoing }

    func epoch(of number: Int) -> Int { coordinations[number].epoch }

    /// The partitions of a transaction, or those whose marker is missing.
    func places(of number: Int) -> Set<Place> { coordinations[number].places }

    /// Takes over a transactional id: aborts its open transaction and fences older epochs.
    ///
    /// The epoch rises when a transaction is aborted for it, and again once all markers are written. While only markers are
    /// missing it stays.
    ///
    /// - Returns: the new epoch, or nil while markers are missing.
    mutating func takeOver(_ number: Int) -> Int? {
        if isEnding(number) { return nil }
        coordinations[number].epoch += 1
        coordinations[number].state = isOngoing(number) ? .ending(.abort) : .ended(nil)
        return isEnding(number) ? nil : coordinations[number].epoch
    }

    /// Aborts a transaction that has been open for too long.
    mutating func timeOut(_ number: Int) {
        if isOngoing(number) { _ = takeOver(number) }
    }

    /// Aborts all transactions that began before a time.
    mutating func timeOut(begunBefore time: Timestamp) {
        for number in all where coordinations[number].begunAt < time { timeOut(number) }
    }

    /// Adds a partition to the open transaction, or to a new one.
    mutating func add(_ place: Place, to number: Int, epoch: Int, at now: Timestamp) -> Reply {
        guard coordinations[number].epoch == epoch else { return .fenced }
        if isEnding(number) { return .concurrent }
        if !isOngoing(number) { (coordinations[number].state, coordinations[number].begunAt) = (.ongoing, now) }
        coordinations[number].places.insert(place)
        return .done
    }

    /// Whether a partition is part of the open transaction, as brokers ask before they begin to write there.
    func verify(_ place: Place, of number: Int, epoch: Int) -> Bool {
        coordinations[number].epoch == epoch && isOngoing(number) && coordinations[number].places.contains(place)
    }

    /// Ends the open transaction. Its markers follow. The brokers cannot tell transactions of one epoch apart.
    mutating func end(_ number: Int, epoch: Int, _ decision: Decision) -> Reply {
        guard coordinations[number].epoch == epoch else { return .fenced }
        switch coordinations[number].state {
        case .ongoing:
            coordinations[number].state = .ending(decision)
            return .done
        case .ending(let other): return other == decision ? .concurrent : .invalid
        case .ended(let other): return other == decision ? .done : .invalid
        }
    }

    /// Removes one of the partitions whose marker is missing, at random.
    mutating func nextMarker(
        of number: Int, using random: inout SeededGenerator, where isWritable: (Place) -> Bool
    ) -> (place: Place, decision: Decision)? {
        guard case .ending(let decision) = coordinations[number].state else { return nil }
        // In order, so that runs are repeatable.
        guard let place = random.pick(coordinations[number].places.filter(isWritable).sorted()) else { return nil }
        coordinations[number].places.remove(place)
        if coordinations[number].places.isEmpty { coordinations[number].state = .ended(decision) }
        return (place, decision)
    }
}
