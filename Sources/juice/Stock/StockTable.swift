import JuiceMaker
import JuiceMessages

/// Stores and their fruits as a table: a row for each store, a number and a bar for each fruit.
struct StockTable {
    let menu: Menu
    let language: Language
    var barColumns = 8

    /// The same table with bars as wide as `columns` allows, from 1 to 16 columns each.
    func fitted(to columns: Int, _ records: [StockRecord]) -> StockTable {
        var table = self
        table.barColumns = 1
        let narrowest = table.lines(records, paint: .none).map { DisplayWidth.of($0) }.max() ?? 0
        table.barColumns = min(16, max(1, 1 + (columns - narrowest) / max(1, fruits(in: records).count)))
        return table
    }

    /// The lines of the table. Fruits are in menu order, followed by those that are only in the records.
    ///
    /// A fruit's bar is full at its initial stock, or at the highest level of any listed store.
    func lines(_ records: [StockRecord], paint: Paint) -> [String] {
        let fruits = fruits(in: records)
        var table = Table(
            [Table.Column(title: language == .korean ? "가게" : "store")]
                + fruits.flatMap { [Table.Column(title: $0.name, alignment: .right), Table.Column(title: "", width: barColumns)] })
        for record in records {
            let levels = Dictionary(record.stock.map { ($0.fruit, $0.amount) }) { first, _ in first }
            table.add(
                [Table.Cell(record.store.printable, .bold)]
                    + fruits.flatMap { fruit -> [Table.Cell] in
                        guard let level = levels[fruit.id] else { return [Table.Cell("-"), Table.Cell("")] }
                        let bar = Bar.text(level, full: fruit.full, columns: barColumns)
                        return [Table.Cell(String(level)), Table.Cell(bar, colour(level, of: fruit))]
                    })
        }
        return table.lines(paint: paint)
    }

    private struct ShownFruit {
        let id: String
        let name: String
        let full: Int
    }

    private func fruits(in records: [StockRecord]) -> [ShownFruit] {
        var highest: [String: Int] = [:]
        var others: [String] = []
        for entry in records.lazy.flatMap(\.stock) {
            if highest[entry.fruit] == nil && menu.fruitIndex(id: entry.fruit) == nil { others.append(entry.fruit) }
            highest[entry.fruit] = max(highest[entry.fruit] ?? 0, entry.amount)
        }
        let known = menu.fruits.map { fruit in
            ShownFruit(
                id: fruit.id, name: fruit.name.text(in: language).printable, full: max(fruit.initialStock, highest[fruit.id] ?? 0))
        }
        return known + others.map { ShownFruit(id: $0, name: $0.printable, full: highest[$0] ?? 0) }
    }

    private func colour(_ level: Int, of fruit: ShownFruit) -> Paint.Colour {
        if level == 0 { return .red }
        return level * 4 < fruit.full ? .yellow : .green
    }
}

extension StockRecord {
    /// The stock of a store before its first change.
    static func initial(of store: String, _ menu: Menu) -> StockRecord {
        let stock = menu.fruits.map { FruitAmount(fruit: $0.id, amount: $0.initialStock) }
        return StockRecord(store: store, revision: 0, stock: stock)
    }
}
