/// Elements that leave in the order in which they came.
struct Queue<Element: Sendable>: Sendable {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count, let first = elements[head] else { return nil }
        elements[head] = nil
        head += 1
        // Moved together before the room in front outgrows the elements.
        if head * 2 > elements.count, head >= 16 {
            elements.removeFirst(head)
            head = 0
        }
        return first
    }

    /// Changes the element that is next to leave.
    mutating func replaceFirst(with element: Element) {
        if count > 0 { elements[head] = element }
    }

    /// Removes the first element that `predicate` is true of.
    mutating func removeFirst(where predicate: (Element) -> Bool) {
        let place = elements.indices.dropFirst(head).first { elements[$0].map(predicate) ?? false }
        if let place { elements.remove(at: place) }
    }

    /// The element at a place, of which 0 is the next to leave; nil beyond the last.
    subscript(place: Int) -> Element? { head + place < elements.count ? elements[head + place] : nil }
}
